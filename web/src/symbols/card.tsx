// What is known of a function.
import { useEffect, useState } from "preact/hooks";
import { count, counted } from "../common/format";
import { askJson } from "../common/served";
import { FunctionInfo, PageInfo } from "./model";
import { Inlines, Lines, Pads, Ranges } from "./parts";
import { Tabs } from "./tabs";
import { endOf, shownName } from "./words";

interface Props {
  page: PageInfo;
  index: number;
  part: string;
  onPart(part: string): void;
  onChoose(index: number): void;
  onAsk(text: string): void;
}

export function FunctionCard(props: Props) {
  const { page, index } = props;
  const [info, setInfo] = useState<FunctionInfo | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let isStale = false;
    askJson<FunctionInfo>("function", { index: String(index) }).then(
      (found) => { if (!isStale) { setInfo(found); setProblem(""); } },
      (error: Error) => { if (!isStale) setProblem(error.message); },
    );
    return () => { isStale = true; };
  }, [index]);
  if (problem) return <p class="error" role="alert">{problem}</p>;
  if (!info) return null;
  const isKsym = page.info.format === "ksym";
  const hasPads = (page.info.return_pads ?? 0) > 0;
  const tabs = [
    ...(hasPads ? [{ key: "pads", title: "Return pads" }] : []),
    ...(isKsym ? [] : [{ key: "lines", title: "Lines" }, { key: "inlines", title: "Inlined calls", note: count(info.inlines) }]),
    { key: "ranges", title: isKsym ? "Same name" : "Ranges" },
  ];
  const part = tabs.some((tab) => tab.key === props.part) ? props.part : tabs[0].key;
  const isWhole = info.whole_start === info.address && info.whole_size === info.size;
  return (
    <article class="card" aria-label="Chosen">
      <h2><bdi>{shownName(info.name)}</bdi></h2>
      <dl class="fields">
        <dt>Range</dt>
        <dd>
          <span class="mono">{info.address} – {endOf(info.address, info.size)}</span>, {counted(info.size, "byte")}{" "}
          <button class="small" onClick={() => props.onAsk(info.address)}>Explain</button>
        </dd>
        {!isWhole && (
          <><dt>Piece of</dt><dd><span class="mono">{info.whole_start} – {endOf(info.whole_start, info.whole_size)}</span>, {counted(info.whole_size, "byte")}</dd></>
        )}
        {info.linkage_name !== null && <><dt>Linked as</dt><dd class="mono long"><bdi>{info.linkage_name}</bdi></dd></>}
        {info.type && <><dt>Type</dt><dd class="mono">{info.type}</dd></>}
        {info.file !== null && <><dt>File</dt><dd class="long"><bdi>{info.file}</bdi></dd></>}
        {info.alias_count > 0 && (
          <>
            <dt>{info.ambiguous ? "Folded with" : "Also called"}</dt>
            <dd class="long">
              {info.aliases.map((alias) => <div><bdi>{alias}</bdi></div>)}
              {info.alias_count > info.aliases.length && <div class="dim">and {count(info.alias_count - info.aliases.length)} more</div>}
            </dd>
          </>
        )}
      </dl>
      <Tabs id="part" label="Parts" tabs={tabs} chosen={part} onChoose={props.onPart} />
      <div role="tabpanel" id="part-body" aria-labelledby={"part-" + part}>
        {part === "lines" && <Lines index={info.index} />}
        {part === "inlines" && <Inlines index={info.index} />}
        {part === "ranges" && <Ranges index={info.index} onChoose={props.onChoose} isKsym={isKsym} />}
        {part === "pads" && <Pads index={info.index} />}
      </div>
    </article>
  );
}
