"""Names for traces whose metadata is not as our recorder writes it: sparse ids, stacks that begin with the root."""

import json

import test_heap_symbolize as symbolizing
from support import mlyze_writer as writer
from support import tap


class OtherMetadata(symbolizing.NamesTest):
    """Traces as another writer would have written them."""

    def rewrite(self, change):
        head, text, events = writer.read(self.trace.read_bytes())
        metadata = json.loads(text)
        change(metadata)
        self.trace.write_bytes(writer.plain(events, head["start"], json.dumps(metadata).encode()))

    def test_ids_that_are_far_apart(self):
        _, wanted = self.recorded()
        sparse = lambda id: 4_000_000_000 - 90_000_000 * int(id)  # noqa: E731

        def change(metadata):
            for table in "files", "functions", "unresolved":
                metadata[table] = {str(sparse(id)): value for id, value in metadata[table].items()}
            for frames in metadata["stack_traces"].values():
                for frame in frames:
                    frame["file_id"], frame["func_id"] = sparse(frame["file_id"]), sparse(frame["func_id"])

        self.rewrite(change)
        self.named(wanted)

    def test_stacks_that_begin_with_the_root(self):
        _, wanted = self.recorded()

        def change(metadata):
            metadata["stack_order"] = "root_first"
            for frames in metadata["stack_traces"].values():
                frames.reverse()

        self.rewrite(change)
        self.named([(size, frames[::-1]) for size, frames in wanted])
        stacks = [line for line in self.run_ok("dump", "--json", self.trace).json_lines() if "frames" in line]
        self.assertEqual({stack["frames"][0]["function"] for stack in stacks}, {frames[0][0] for _, frames in wanted})


if __name__ == "__main__":
    tap.main()
