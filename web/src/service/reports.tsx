// The reports that the server keeps, with links to their pages and to what changed between two.
import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, count, counted } from "../common/format";
import { listReports, removeReport, Report } from "./api";
import { Change, State } from "./state";
import { KINDS, moment } from "./texts";

const TYPING = 150;

/** Each word of a name by itself; names have no character that needs an escape. */
function pageOf(report: Report, before = ""): string {
  return "/reports/" + report.name + (before === "" ? "" : "?before=" + before);
}

function Compare({ report, before, change }: { report: Report; before: Report | undefined; change: Change }) {
  if (report.kind === "sizediff") return null;
  if (before === undefined)
    return <button type="button" aria-label={`Compare… others with ${report.name}`} onClick={() => change({ before: report.name })}>Compare…</button>;
  if (before.name === report.name)
    return <button type="button" aria-label={`before ×: do not compare with ${report.name}`} onClick={() => change({ before: "" })}>before ×</button>;
  if (before.kind !== report.kind) return null;
  return <a href={pageOf(report, before.name)}>what changed</a>;
}

interface Actions {
  change: Change;
  remove: ((report: Report) => void) | null;
}

function Row({ report, before, change, remove }: { report: Report; before: Report | undefined } & Actions) {
  return (
    <tr class={before?.name === report.name ? "chosen-row" : undefined}>
      <td class="name"><a href={pageOf(report)}><bdi>{report.name}</bdi></a></td>
      <td>{KINDS[report.kind]}</td>
      <td class="number" title={counted(report.size, "byte")}>{bytes(report.size)}</td>
      <td class="number">{moment(report.created)}</td>
      <td class="actions"><Compare report={report} before={before} change={change} /></td>
      <td class="actions">
        <a href={"/api/v1/reports/" + report.name} aria-label={`Download ${report.name}`} download>Download</a>
        {remove !== null && <button type="button" aria-label={`Remove ${report.name}`} onClick={() => remove(report)}>Remove</button>}
      </td>
    </tr>
  );
}

function Table({ reports, before, change, remove }: { reports: Report[]; before: string } & Actions) {
  const chosen = reports.find((report) => report.name === before);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of reports">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Kind</th>
            <th scope="col" class="number">Size</th>
            <th scope="col" class="number">Uploaded</th>
            <th scope="col">Compare</th>
            <th scope="col"><span class="hidden-label">Actions</span></th>
          </tr>
        </thead>
        <tbody>{reports.map((report) => <Row key={report.name} report={report} before={chosen} change={change} remove={remove} />)}</tbody>
      </table>
    </div>
  );
}

function Nothing({ search }: { search: string }) {
  if (search !== "") return <p class="empty">No report has “{search}” in its name.</p>;
  return (
    <div class="empty">
      <p>There are no reports yet. A size file, a diff of sizes or a heap trace becomes one:</p>
      <pre class="mono">{`curl -u id:key -T app.size ${location.origin}/api/v1/reports/app/nightly`}</pre>
    </div>
  );
}

export function Reports({ state, change, mayRemove }: { state: State; change: Change; mayRemove: boolean }) {
  const [reports, setReports] = useState<Report[] | null>(null);
  const [shown, setShown] = useState("");
  const [problem, setProblem] = useState("");
  const asked = useRef<AbortController | null>(null);
  const ask = async () => {
    asked.current?.abort();
    const controller = (asked.current = new AbortController());
    try {
      const list = await listReports(state.search, controller.signal);
      setReports(list.sort((a, b) => b.created.localeCompare(a.created) || a.name.localeCompare(b.name)));
      setShown(state.search);
      setProblem("");
    } catch (error) {
      if (!controller.signal.aborted) setProblem((error as Error).message);
    }
  };
  useEffect(() => {
    const timer = setTimeout(() => void ask(), reports === null ? 0 : TYPING);
    return () => clearTimeout(timer);
  }, [state.search]);
  useEffect(() => () => asked.current?.abort(), []);
  const remove = (report: Report) => {
    if (!confirm(`Remove the report ${report.name}?`)) return;
    void removeReport(report.name).then(ask, (error: Error) => setProblem(error.message));
  };
  return (
    <>
      <div class="bar">
        <h1>Reports</h1>
        <label>
          <span class="hidden-label">Search reports by name</span>
          <input type="search" placeholder="Name" value={state.search} onInput={(event) => change({ search: event.currentTarget.value })} />
        </label>
        <span class="dim" role="status">
          {reports !== null && `${count(reports.length)} ${shown !== "" ? "found" : reports.length === 1 ? "report" : "reports"}`}
        </span>
      </div>
      {problem !== "" && <p class="error" role="alert">{problem}</p>}
      {reports !== null &&
        (reports.length > 0 ? (
          <Table reports={reports} before={state.before} change={change} remove={mayRemove ? remove : null} />
        ) : (
          <Nothing search={shown} />
        ))}
    </>
  );
}
