export const isToRead = (method: string): boolean => method === "GET" || method === "HEAD";
