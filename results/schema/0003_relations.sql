-- What became of the relations that must hold of an output, or between the outputs of two calls (gate G6).
ALTER TABLE verdict ADD COLUMN relations_planned INTEGER NOT NULL DEFAULT 0;
CREATE TABLE relation (
  run_id         INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  output         TEXT NOT NULL,
  position       INTEGER NOT NULL,
  name           TEXT NOT NULL,              -- what holds, in words
  holds          INTEGER NOT NULL CHECK (holds IN (0, 1)),
  n              INTEGER NOT NULL,           -- comparisons planned
  n_compared     INTEGER NOT NULL,
  n_wrong        INTEGER NOT NULL,
  message        TEXT NOT NULL,              -- why it does not hold, '' where it does
  worst_index_json TEXT CHECK (worst_index_json IS NULL OR json_valid(worst_index_json)),   -- the comparison furthest from holding
  got REAL, got_class TEXT, low REAL, low_class TEXT, high REAL, high_class TEXT,
  PRIMARY KEY (run_id, output, position),
  CHECK (holds = 0 OR n_compared = n AND n > 0 AND n_wrong = 0),
  CHECK (worst_index_json IS NULL OR (got_class IS NOT NULL AND low_class IS NOT NULL AND high_class IS NOT NULL))
) STRICT, WITHOUT ROWID;
