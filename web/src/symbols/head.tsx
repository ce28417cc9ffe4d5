// What the file is, as `sextant info` says.
import { bytes, count } from "../common/format";
import { ServedLinks } from "../common/served_links";
import { ThemeSwitch } from "../common/theme";
import { PageInfo } from "./model";
import { counts, formatName, quality } from "./words";

export function Head({ page }: { page: PageInfo }) {
  const { info } = page;
  return (
    <header>
      <div class="title">
        <h1 title={info.file}><bdi>{page.name}</bdi></h1>
        <ServedLinks />
        <ThemeSwitch />
      </div>
      <dl class="facts">
        <Fact name="Format" value={formatName(info)} />
        <Fact name="Architecture" value={info.arch} />
        <Fact name="Size" value={bytes(info.size)} title={`${count(info.size)} bytes`} />
        <Fact name="Build ID" value={info.build_id} isCode />
        <Fact name="FileID" value={info.file_id} isCode />
        <Fact name="Binary" value={info.path} />
        <Fact name="Counts" value={counts(info).join(", ")} id="counts" />
        <Fact name="Quality" value={quality(info)} id="quality" />
      </dl>
    </header>
  );
}

function Fact({ name, value, title, isCode, id }: { name: string; value?: string | null; title?: string; isCode?: boolean; id?: string }) {
  if (!value) return null;
  return (
    <div title={title}>
      <dt>{name}</dt> <dd id={id} class={isCode ? "mono" : ""}><bdi>{value}</bdi></dd>
    </div>
  );
}
