/** "Crons" by which the process that owns the runtime says when faults begin and end. */
export const FAULTS_ON = "soak: faults on";
export const FAULTS_OFF = "soak: faults off";
