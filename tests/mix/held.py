"""Small inventories and mixtures over them: partitions of ten tokens a sequence at most."""

from dataclasses import replace

from corpusmill.mix.inventory import Inventory, PartitionPin
from corpusmill.mix.mixture import Component, Mixture


def pin(name: str, *, sequences: int, tokens: int, partition: str = "s1", **changed) -> PartitionPin:
    return replace(
        PartitionPin(
            table=f"tokenized/{name}/sequences",
            partition=partition,
            content_hash=f"hash-of-{name}-{partition}",
            num_sequences=sequences,
            num_tokens=tokens,
            tokenizer="t1",
            sequence_length=10,
        ),
        **changed,
    )


def component(name: str, weight: float, **settings) -> Component:
    return Component(name=name, table=f"tokenized/{name}/sequences", weight=weight, **settings)


def mixture(*components: Component, **settings) -> Mixture:
    return Mixture(**{"name": "demo", "components": components, "sequence_length": 10, **settings})


WEB_CODE = Inventory(
    pins=[pin("web", sequences=100, tokens=1000), pin("code", sequences=200, tokens=1000)],
    snapshots={"tokenized/web/sequences": 11, "tokenized/code/sequences": 22},
)
