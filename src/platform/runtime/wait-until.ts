/** Lets work continue after its request was answered. */
export type WaitUntil = (work: Promise<unknown>) => void;
