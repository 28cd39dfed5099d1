import type { WaitingStore } from "../files/waiting-store.ts";
import type { ReservationFault } from "../blobs/blob-store.ts";

/** What one upload takes of its tenant's quota, as its bytes come: a slow one keeps nobody waiting for what it may bring. */
export class UploadRoom {
  readonly #waiting: WaitingStore;
  readonly #fileId: string;
  #takenBytes = 0;
  #isLimited = true;

  constructor(waiting: WaitingStore, fileId: string) {
    this.#waiting = waiting;
    this.#fileId = fileId;
  }

  /** Why there is no room for so many more bytes; undefined where there is. */
  async take(bytes: number): Promise<ReservationFault | undefined> {
    if (!this.#isLimited) return undefined;
    const taken = await this.#waiting.reserve(this.#fileId, bytes);
    if (taken === "not_limited") this.#isLimited = false;
    else if (taken === "reserved") this.#takenBytes += bytes;
    else return taken;
    return undefined;
  }

  /** Not repeated where it fails: what another upload took would go with it. The file's end gives back what is left. */
  async giveBack(): Promise<void> {
    if (this.#takenBytes > 0) await this.#waiting.release(this.#fileId, this.#takenBytes);
  }
}
