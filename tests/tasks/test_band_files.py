"""Single documents are found in what a band table tells of them, in whichever row groups they lie."""

import pyarrow as pa

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.tasks import bands
from corpusmill.tasks.band_files import BandFiles
from tests.tasks.dedup_lake import DATASET, DedupLake
from tests.tasks.signed_lake import doc_id, put_signatures

PARAMETERS = DedupParameters(validation_share=0.3)


def test_documents_are_found_by_their_ids_in_few_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(bands, "MEMBER_ROWS", 3)
    lake = DedupLake(tmp_path, PARAMETERS.to_json())
    put_signatures(lake, "1", [f"text {number}" for number in range(20)], PARAMETERS)
    put_signatures(lake, "2", [], PARAMETERS)
    lake.resolve()
    files = BandFiles(lake.lake, DATASET, ["1", "2"])
    every = [doc_id("1", number) for number in range(20)]
    for wanted in [[], every[:1], every[4:9], every, ["no such document", every[7]]]:
        found = files.find("1", pa.array(wanted, pa.string()), ["doc_id", "text_hash"])
        assert sorted(found["doc_id"].to_pylist()) == sorted(set(wanted) & set(every))
        assert found.column_names == ["doc_id", "text_hash"]
    assert files.find("2", pa.array(every), ["doc_id"]).num_rows == 0
