// One binary: what it is, what is here of it, what answers, and a box for its addresses.
import { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { bytes, count, counted } from "../common/format";
import { Binary, describe, hexToBase64, idOf } from "./api";
import { Change, linkTo } from "./state";
import { Symbolizer } from "./symbolizer";
import { answeredBy, moment, QUALITIES } from "./texts";

function Field({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** What can be downloaded. */
function downloads(binary: Binary): { word: string; href: string }[] {
  const id = encodeURIComponent(idOf(binary));
  const list: { word: string; href: string }[] = [];
  if (binary.source !== null && binary.functions > 0) {
    list.push({ word: "Lidia archive", href: `/api/v1/files/${id}/lidia` });
    list.push({ word: "symbfile", href: `/api/v1/files/${id}/symbfile` });
  }
  if (binary.quality.returnpads) list.push({ word: "return pads", href: `/api/v1/files/${id}/returnpads` });
  if (binary.build_id !== null && binary.quality.executable) list.push({ word: "executable", href: `/buildid/${binary.build_id}/executable` });
  if (binary.build_id !== null && binary.quality.debuginfo) list.push({ word: "debug file", href: `/buildid/${binary.build_id}/debuginfo` });
  return list;
}

function Details({ binary }: { binary: Binary }) {
  const files = downloads(binary);
  return (
    <div class="card">
      <dl>
        <Field name="Build ID"><span class="mono">{binary.build_id ?? "none"}</span></Field>
        <Field name="FileID">
          {binary.file_id === null ? "none" : <><span class="mono">{binary.file_id}</span>{" "}<span class="mono dim">{hexToBase64(binary.file_id)}</span></>}
        </Field>
        <Field name="Machine">{binary.arch ?? "unknown"}</Field>
        <Field name="Uploaded">{moment(binary.created) || "not yet"}</Field>
        <Field name="Size here"><span title={counted(binary.size, "byte")}>{bytes(binary.size)}</span></Field>
        <Field name="Functions">{count(binary.functions)}</Field>
        <Field name="Answers come from">{answeredBy(binary)}</Field>
        {binary.incomplete && (
          <Field name="Incomplete upload">
            <span class="grown">{binary.incomplete.parts} of {binary.incomplete.of} parts are here</span>
          </Field>
        )}
        {binary.missing !== null && <Field name="Better with">{binary.missing}</Field>}
        {files.length > 0 && (
          <Field name="Download">
            {files.map(({ word, href }, i) => <>{i > 0 && " · "}<a href={href} download>{word}</a></>)}
          </Field>
        )}
      </dl>
      <ul class="qualities" aria-label="What is here">
        {QUALITIES.map(({ key, word, about }) => (
          <li class={binary.quality[key] ? "yes" : "no"} title={about}>
            <span aria-hidden="true">{binary.quality[key] ? "✓" : "–"}</span> {word}
            <span class="hidden-label">{binary.quality[key] ? ": yes" : ": no"}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function BinaryView({ id, search, change }: { id: string; search: string; change: Change }) {
  const [binary, setBinary] = useState<Binary | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    void describe(id).then(setBinary, (error: Error) => setProblem(error.message));
  }, [id]);
  return (
    <>
      <p class="back"><a href={linkTo({ search })}>← Binaries</a></p>
      {problem !== "" && <p class="error" role="alert">{problem}</p>}
      {binary !== null && (
        <>
          <h1 class="title"><bdi>{binary.name ?? "(no name)"}</bdi></h1>
          <Details binary={binary} />
          <h2>Addresses</h2>
          <Symbolizer file={id} isFixed change={change} />
        </>
      )}
    </>
  );
}
