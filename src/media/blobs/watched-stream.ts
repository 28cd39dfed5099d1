/** Passes a stream on and records whether its source broke off, which the stream's reader may hide. */
export interface WatchedStream {
  readonly stream: ReadableStream<Uint8Array>;
  brokeOff(): boolean;
  /** Stops reading the source. */
  cancel(): Promise<void>;
}

export function watchStream(source: ReadableStream<Uint8Array>): WatchedStream {
  const reader = source.getReader();
  let broken = false;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const chunk = await reader.read();
        if (chunk.done) controller.close();
        else controller.enqueue(chunk.value);
      } catch (thrown) {
        broken = true;
        controller.error(thrown);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { stream, brokeOff: () => broken, cancel: () => reader.cancel().catch(() => undefined) };
}
