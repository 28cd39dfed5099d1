import { METRICS, type MetricName } from "../../platform/ports/metrics.ts";

/**
 * Values by the name of their series: `requests media 2xx` is a metric, a service and the value of a label.
 */
export type Series = Map<string, number>;
/** `EVERYBODY` has all counts, with and without a tenant. A map, since a tenant may be named `constructor`. */
export type ByTenant = Map<string, Series>;
/** Keyed by the first millisecond of a minute. */
export type ByMinute = Map<number, ByTenant>;

/** No tenant has this name. */
export const EVERYBODY = "*";

export const seriesName = (metric: MetricName, service: string, label = ""): string =>
  label === "" ? `${metric} ${service}` : `${metric} ${service} ${label}`;

/** Keeps each name, because joining and hashing it anew costs more than the rest of a count. */
export function createSeriesNames() {
  const names = new Map<MetricName, Map<string, Map<string, string>>>();
  return (metric: MetricName, service: string, label = ""): string => {
    const byLabel = getOrMake(getOrMake(names, metric, newMap<Map<string, string>>), service, newMap<string>);
    return getOrMake(byLabel, label, () => seriesName(metric, service, label));
  };
}

export interface SeriesName {
  readonly metric: MetricName;
  readonly service: string;
  readonly label: string;
}

/** Undefined for a metric of another release, which this one does not know. */
export function parseSeriesName(name: string): SeriesName | undefined {
  const [metric = "", service = "", label = ""] = name.split(" ");
  return Object.hasOwn(METRICS, metric) ? { metric: metric as MetricName, service, label } : undefined;
}

const isPeak = (name: string): boolean => {
  const metric = name.slice(0, name.indexOf(" "));
  return Object.hasOwn(METRICS, metric) && METRICS[metric as MetricName].kind === "peak";
};

/** Adds up sums, and keeps the larger of two peaks. The order of the calls does not matter. */
export function addUp(into: Series, from: Series): void {
  for (const [name, value] of from) {
    const before = into.get(name);
    into.set(name, before === undefined ? value : isPeak(name) ? Math.max(before, value) : before + value);
  }
}

export function mergeTenants(into: ByTenant, from: ByTenant): void {
  for (const [tenant, series] of from) addUp(getOrMake(into, tenant, newSeries), series);
}

export function mergeMinutes(into: ByMinute, from: ByMinute): void {
  for (const [minute, tenants] of from) mergeTenants(getOrMake(into, minute, newTenants), tenants);
}

export function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

const newMap = <V>(): Map<string, V> => new Map();
export const newSeries = (): Series => new Map();
export const newTenants = (): ByTenant => new Map();

/** Encodes as JSON objects by tenant and by series, so that SQLite can read single values. */
export const encodeTenants = (tenants: ByTenant): string =>
  JSON.stringify(Object.fromEntries([...tenants].map(([tenant, series]) => [tenant, Object.fromEntries(series)])));

export const decodeTenants = (text: string): ByTenant =>
  new Map(
    Object.entries(JSON.parse(text) as Record<string, Record<string, number>>).map(([tenant, series]) => [
      tenant,
      new Map(Object.entries(series)),
    ]),
  );

export const encodeMinutes = (minutes: ByMinute): string =>
  JSON.stringify([...minutes].map(([minute, tenants]) => [minute, encodeTenants(tenants)]));

export const decodeMinutes = (text: string): ByMinute =>
  new Map((JSON.parse(text) as [number, string][]).map(([minute, tenants]) => [minute, decodeTenants(tenants)]));
