"""The command that writes a stretch of a mix as the files of another loader."""

import argparse

from jobs.trace_commands import whole_number

FORMATS = ("megatron", "mds")


def export_arguments(one: argparse.ArgumentParser) -> None:
    """Write a stretch of a mix, in its order and with exactly its tokens, as files that other loaders read.

    megatron   OUT.bin and OUT.idx, Megatron's indexed dataset; needs --vocabulary-size, which decides between two and four
               bytes a token. A packed sequence is a document there: boundaries inside it have no place in that format.
    mds        a folder OUT of shards and index.json, for mosaicml-streaming: columns tokens, lengths (of the document
               pieces) and position. Interrupted, the same command goes on behind the last whole shard.

    A loader that can read the lake needs neither: docs/streaming.md.

    corpusmill export main mds exports/main
    corpusmill export main@0123456789abcdef megatron exports/main --vocabulary-size 49152 --start 0 --stop 250000
    """
    one.add_argument("mix", metavar="MIX", help="a mixture by name, or name@version")
    one.add_argument("format", metavar="FORMAT", choices=FORMATS, help=" or ".join(FORMATS))
    one.add_argument("out", metavar="OUT", help="a new folder (mds), or the path before .bin and .idx (megatron)")
    one.add_argument("--start", metavar="N", type=whole_number, default=0, help="the first position (default 0)")
    one.add_argument("--stop", metavar="N", type=whole_number, help="the position to stop before (default: the end)")
    one.add_argument("--vocabulary-size", metavar="N", type=whole_number, help="tokens that the tokenizer knows")


def export(options: argparse.Namespace) -> None:
    from corpusmill.settings import load_settings
    from corpusmill.stream.loader import MixtureStream
    from corpusmill.stream.mds import export_mds
    from corpusmill.stream.megatron import export_megatron

    if (options.format == "megatron") != bool(options.vocabulary_size):
        raise ValueError("--vocabulary-size goes with megatron, which needs it; see corpusmill export --help")
    stream = MixtureStream(load_settings().lake, options.mix, start=options.start)
    if options.format == "mds":
        shards = export_mds(stream, options.out, stop=options.stop)
        reused = f", {shards.num_reused} of them written before" if shards.num_reused else ""
        print(
            f"{stream.mix}: {shards.num_sequences:,} sequences in {shards.num_shards} shards{reused}, in {shards.folder}"
        )
        return
    files = export_megatron(stream, options.out, vocabulary_size=options.vocabulary_size, stop=options.stop)
    print(
        f"{stream.mix}: {files.num_sequences:,} sequences, {files.num_tokens:,} tokens, in {files.bin_file} and "
        f"{files.idx_file.name}"
    )
