/**
 * `fetch` that reports how much of a body was sent. The body is sent as a stream with a Content-Length, which presigned
 * URLs require.
 */
export function fetchWithProgress(onSent: (sentBytes: number, totalBytes: number) => void): typeof globalThis.fetch {
  return async (input, init) => {
    if (!(init?.body instanceof Blob)) return fetch(input, init);
    const { size } = init.body;
    const headers = new Headers(init.headers);
    headers.set("content-length", String(size));
    let sentBytes = 0;
    const counting = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk);
        sentBytes += chunk.byteLength;
        onSent(sentBytes, size);
      },
    });
    const body = init.body.stream().pipeThrough(counting);
    // Node requires `duplex` for a body that is a stream.
    const streamed = { ...init, headers, body, duplex: "half" };
    return fetch(input, streamed);
  };
}
