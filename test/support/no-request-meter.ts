import type { RequestMeter } from "../../src/http/request-meter.ts";

/** Counts nothing. */
export const noRequestMeter: RequestMeter = { answered() {}, flushBeside() {} };
