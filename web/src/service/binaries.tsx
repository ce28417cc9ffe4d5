// The list of binaries, with search as you type.
import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, count, counted } from "../common/format";
import { Binary, idOf, listBinaries } from "./api";
import { Change, linkTo, State } from "./state";
import { extras, grade, moment } from "./texts";

/** How long to wait for the next letter, in milliseconds. */
const TYPING = 150;

interface Listed {
  files: Binary[];
  next: string | null;
  search: string;
}

function Row({ binary, search }: { binary: Binary; search: string }) {
  const quality = grade(binary);
  return (
    <tr>
      <td class="name">
        <a href={linkTo({ file: idOf(binary), search })}>
          <bdi>{binary.name ?? "(no name)"}</bdi>
        </a>
        {binary.incomplete && (
          <span class="tag poor first" title="An upload is not complete yet">
            {binary.incomplete.parts} of {binary.incomplete.of} parts
          </span>
        )}
      </td>
      <td class="mono id" title={binary.build_id ?? undefined}>{binary.build_id ?? <span class="dim">none</span>}</td>
      <td class="mono id second" title={binary.file_id ?? undefined}>{binary.file_id ?? <span class="dim">none</span>}</td>
      <td>{binary.arch ?? ""}</td>
      <td>
        <span class={"tag " + quality.level}>{quality.word}</span>
        <span class="has">{extras(binary).join(", ")}</span>
      </td>
      <td class="number">{count(binary.functions)}</td>
      <td class="number" title={counted(binary.size, "byte")}>{bytes(binary.size)}</td>
      <td class="number">{moment(binary.created)}</td>
    </tr>
  );
}

function Table({ listed }: { listed: Listed }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of binaries">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Build ID</th>
            <th scope="col" class="second">FileID</th>
            <th scope="col">Machine</th>
            <th scope="col">Answers</th>
            <th scope="col" class="number">Functions</th>
            <th scope="col" class="number">Size</th>
            <th scope="col" class="number">Uploaded</th>
          </tr>
        </thead>
        <tbody>{listed.files.map((binary) => <Row key={idOf(binary)} binary={binary} search={listed.search} />)}</tbody>
      </table>
    </div>
  );
}

function Nothing({ search }: { search: string }) {
  if (search !== "") return <p class="empty">No binary has a name with “{search}” in it, or an id that begins with it.</p>;
  return (
    <div class="empty">
      <p>There are no symbols here yet. Push some:</p>
      <pre class="mono">sextant push --url {location.origin} --api-key id:key /usr/bin/app</pre>
    </div>
  );
}

export function Binaries({ state, change }: { state: State; change: Change }) {
  const [listed, setListed] = useState<Listed | null>(null);
  const [problem, setProblem] = useState("");
  const asked = useRef<AbortController | null>(null);
  const ask = async (search: string, before: Listed | null) => {
    asked.current?.abort();
    const controller = (asked.current = new AbortController());
    try {
      const page = await listBinaries(search, before?.next ?? undefined, controller.signal);
      setListed({ files: [...(before?.files ?? []), ...page.files], next: page.next, search });
      setProblem("");
    } catch (error) {
      if (!controller.signal.aborted) setProblem((error as Error).message);
    }
  };
  useEffect(() => {
    const timer = setTimeout(() => void ask(state.search, null), listed === null ? 0 : TYPING);
    return () => clearTimeout(timer);
  }, [state.search]);
  useEffect(() => () => asked.current?.abort(), []);
  return (
    <>
      <div class="bar">
        <h1>Binaries</h1>
        <label>
          <span class="hidden-label">Search binaries by name, build ID or FileID</span>
          <input
            type="search"
            placeholder="Name, build ID or FileID"
            value={state.search}
            onInput={(event) => change({ search: event.currentTarget.value })}
          />
        </label>
        <span class="dim" role="status">
          {listed !== null && `${count(listed.files.length)}${listed.next !== null ? "+" : ""} ${listed.search !== "" ? "found" : listed.files.length === 1 ? "binary" : "binaries"}`}
        </span>
      </div>
      {problem !== "" && <p class="error" role="alert">{problem}</p>}
      {listed !== null && (listed.files.length > 0 ? <Table listed={listed} /> : <Nothing search={listed.search} />)}
      {listed?.next != null && (
        <p>
          <button type="button" onClick={() => void ask(listed.search, listed)}>Show more</button>
        </p>
      )}
    </>
  );
}
