import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { getBusiestTenants, getMetrics, type Metrics } from "../../../../api/plinth.ts";
import { load } from "../../app/load.ts";
import { answer, operations } from "../../api/client.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { PageLink, PlainButton } from "../../components/plain.tsx";
import { Card, Page } from "../../components/page.tsx";
import { Loading } from "../../components/states.tsx";
import { useConfig } from "../../session/config.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { Attention } from "./attention.tsx";
import {
  aSecond,
  byMetric,
  byService,
  lastOf,
  METRICS,
  slowestOf,
  SPAN,
  SPANS,
  sumOf,
  timesOf,
  type Span,
} from "./metrics.ts";

const Chart = lazy(() => load(() => import("../../components/chart.tsx")));

/** The platform at a glance, or one tenant (`?tenant=`). */
export function OverviewPage() {
  const { overview: words, navigation } = useWords();
  const queries = useQueryClient();
  // The platform's own clients have its name as their tenant. That tenant has no page.
  const { platform } = useConfig();
  const { span: asked, tenant } = useSearch({ from: "/inside/" });
  const navigate = useNavigate({ from: "/" });
  const span: Span = SPANS.find((one) => one === asked) ?? "hour";
  const metrics = useQuery({
    queryKey: ["metrics", span, tenant],
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
    queryFn: () => {
      const to = Date.now();
      const ofTenant = tenant === undefined ? {} : { tenant };
      const time = { $from: to - SPAN[span].ms, to, step: SPAN[span].step };
      return answer(getMetrics({ ...time, ...ofTenant, metric: METRICS.join(",") }, operations));
    },
  });
  const failed = metrics.data === undefined && metrics.isError;
  return (
    <Page
      title={tenant === undefined ? words.title : `${words.title}: ${tenant}`}
      lead={tenant === undefined ? words.lead : words.leadOfTenant}
      parent={
        tenant === undefined
          ? undefined
          : tenant === platform
            ? { href: "/", title: words.title }
            : { href: `/tenants/${tenant}`, title: `${navigation.tenants}: ${tenant}` }
      }
      actions={
        <div className="spans" role="group" aria-label={words.span}>
          {SPANS.map((one) => (
            <PlainButton
              key={one}
              className={one === span ? "small chosen" : "small"}
              aria-pressed={one === span}
              onClick={() => void navigate({ search: (old) => ({ ...old, span: one }) })}
            >
              {words.spans[one]}
            </PlainButton>
          ))}
        </div>
      }
    >
      {tenant === undefined && <Attention isFaultTold={failed} />}
      {metrics.isPending && <Loading rows={6} />}
      {failed && <FaultNotice error={metrics.error} retry={() => void queries.refetchQueries({ type: "active" })} />}
      {metrics.data !== undefined && <Numbers metrics={metrics.data} />}
      {tenant === undefined && <Busiest span={span} />}
    </Page>
  );
}

function Numbers({ metrics }: { readonly metrics: Metrics }) {
  const { overview: words } = useWords();
  const format = useFormats();
  const requests = sumOf(metrics, "requests");
  const errors = sumOf(metrics, "requests", (label) => label === "5xx");
  const slowest = slowestOf(metrics);
  const bytes = lastOf(metrics, "stored_bytes") ?? 0;
  const files = lastOf(metrics, "stored_files") ?? 0;
  const times = timesOf(metrics);
  const published = sumOf(metrics, "events_published");
  const seconds = (metrics.to - metrics.from) / 1_000;
  const tiles: readonly (readonly [name: string, value: string, note?: string | undefined])[] = [
    [words.requests, format.short(requests)],
    [words.errors, format.short(errors), requests === 0 ? undefined : format.percent(errors / requests)],
    [words.latency, slowest === undefined ? "–" : format.ms(slowest)],
    [
      words.tokens,
      format.short(sumOf(metrics, "tokens_issued")),
      words.ofThemRefused(format.short(sumOf(metrics, "tokens_refused"))),
    ],
    [words.published, format.short(published), words.aSecond(format.rate(published / seconds))],
    [words.bytes, format.bytes(bytes), words.ofFiles(format.short(files))],
  ];
  const charts = [
    { title: words.byService, series: byService(metrics, "requests"), format: format.short },
    {
      title: words.errorsByService,
      series: byService(metrics, "requests", ({ label, values }) => (label === "5xx" ? values : [])),
      format: format.short,
    },
    { title: words.byLatency, series: byService(metrics, "request_time", ({ p95 = [] }) => p95), format: format.ms },
    {
      title: words.byEvents,
      series: aSecond(
        metrics,
        byMetric(metrics, [
          ["events_published", words.published],
          ["events_read", words.read],
          ["events_pushed", words.pushed],
        ]),
      ),
      format: format.rate,
    },
    {
      title: words.byTokens,
      series: byMetric(metrics, [
        ["tokens_issued", words.tokens],
        ["tokens_refused", words.refused],
      ]),
      format: format.short,
    },
    { title: words.bytes, series: byMetric(metrics, [["stored_bytes", words.bytes]]), format: format.bytes },
  ];
  return (
    <>
      <dl className="tiles">
        {tiles.map(([name, value, note]) => (
          <div key={name} className="tile">
            <dt>{name}</dt>
            <dd>
              {value}
              {note !== undefined && <small>{note}</small>}
            </dd>
          </div>
        ))}
      </dl>
      <div className="grid">
        {charts.map(({ title, series, format: formatted }) => (
          <Card key={title} title={title}>
            <Suspense fallback={<div className="chart-frame" />}>
              <Chart label={title} times={times} series={series} format={formatted} />
            </Suspense>
          </Card>
        ))}
      </div>
    </>
  );
}

function Busiest({ span }: { readonly span: Span }) {
  const { overview: words } = useWords();
  const format = useFormats();
  const busiest = useQuery({
    queryKey: ["metrics", "busiest", span],
    placeholderData: keepPreviousData,
    queryFn: () => {
      const to = Date.now();
      return answer(getBusiestTenants({ $from: to - SPAN[span].ms, to, top: 8 }, operations));
    },
  });
  if (busiest.data === undefined) return null;
  const { tenants } = busiest.data;
  const most = Math.max(1, ...tenants.map(({ value }) => value));
  return (
    <Card title={words.busiest}>
      {tenants.length === 0 && <p className="muted">{words.noTenants}</p>}
      <ul className="bars">
        {tenants.map(({ tenant, value }) => (
          <li key={tenant}>
            <PageLink href={`/?tenant=${tenant}&span=${span}`}>{tenant}</PageLink>
            <meter aria-label={tenant} min={0} max={most} value={value} />
            <span className="end">{format.number(value)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
