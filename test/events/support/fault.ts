/** Aborts an object at the n-th call of its storage, and counts the calls until then, or until `isOver` is set. */
export class Fault {
  readonly n: number;
  asked = 0;
  isOver = false;

  constructor(n: number) {
    this.n = n;
  }

  get isCut(): boolean {
    return this.asked === this.n;
  }

  /** Call it inside the object. */
  inject(state: DurableObjectState): this {
    const { storage } = state;
    const { sql } = storage;
    const step = <A extends unknown[], R>(ask: (...args: A) => R) => {
      return (...args: A): R => {
        if (!this.isOver && ++this.asked === this.n) {
          this.isOver = true;
          state.abort("a fault for a test");
        }
        return ask(...args);
      };
    };
    sql.exec = step(sql.exec.bind(sql)) as typeof sql.exec;
    storage.setAlarm = step(storage.setAlarm.bind(storage));
    storage.deleteAlarm = step(storage.deleteAlarm.bind(storage));
    storage.deleteAll = step(storage.deleteAll.bind(storage));
    return this;
  }
}
