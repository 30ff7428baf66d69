-- One invocation, what ran in it, what the judge said. Units stand in column names. A number that may be NaN has a column *_class
-- beside it ('finite', 'nan', 'inf', '-inf'), because SQLite stores NaN as NULL: NULL in both says that there is no number.
-- Times are UTC text with milliseconds; unsigned 64-bit seeds are text.

CREATE TABLE machine (
  machine_id       INTEGER PRIMARY KEY,
  content_hash     TEXT NOT NULL UNIQUE,     -- of all the columns below
  os               TEXT NOT NULL,
  kernel           TEXT NOT NULL,
  arch             TEXT NOT NULL,
  cpu              TEXT NOT NULL,
  cores            INTEGER NOT NULL,
  memory_bytes     INTEGER NOT NULL,
  gpu              TEXT NOT NULL,            -- '' where there is none
  gpu_memory_bytes INTEGER NOT NULL,
  gpu_driver       TEXT NOT NULL
) STRICT;

CREATE TABLE toolchain (
  toolchain_id  INTEGER PRIMARY KEY,
  content_hash  TEXT NOT NULL UNIQUE,
  versions_json TEXT NOT NULL CHECK (json_valid(versions_json))
) STRICT;

CREATE TABLE session (
  session_id   INTEGER PRIMARY KEY,
  session_ulid TEXT NOT NULL UNIQUE,
  request      TEXT NOT NULL,                -- canonical text of what was asked: resumed by the same text only
  command_json TEXT NOT NULL CHECK (json_valid(command_json)),
  version      TEXT NOT NULL,
  commit_hash  TEXT NOT NULL,
  level        TEXT NOT NULL,
  seed         TEXT NOT NULL,
  added_json   TEXT NOT NULL CHECK (json_valid(added_json)),
  machine_id   INTEGER NOT NULL REFERENCES machine,
  toolchain_id INTEGER NOT NULL REFERENCES toolchain,
  started_utc  TEXT NOT NULL,
  ended_utc    TEXT,                         -- NULL while it runs, and where it was killed
  state        TEXT NOT NULL CHECK (state IN ('running', 'complete', 'interrupted')),
  exit_code    INTEGER
) STRICT;
CREATE INDEX session_by_request ON session (request, session_ulid);

CREATE TABLE implementation (
  implementation_id INTEGER PRIMARY KEY,
  op          TEXT NOT NULL,
  name        TEXT NOT NULL,                 -- 'cuda/warp'
  backend     TEXT NOT NULL,
  variant     TEXT NOT NULL,
  source_hash TEXT NOT NULL,                 -- of its sources and flags: results of two sources never share an identity
  build_json  TEXT CHECK (build_json IS NULL OR json_valid(build_json)),
  UNIQUE (op, name, source_hash)
) STRICT;

CREATE TABLE test_case (
  case_id        INTEGER PRIMARY KEY,
  case_key       TEXT NOT NULL UNIQUE,       -- hash of the columns below, dtypes and attribute numbers apart
  op             TEXT NOT NULL,
  pass           TEXT NOT NULL CHECK (pass IN ('forward', 'backward')),
  dtype          TEXT NOT NULL,
  dims_json      TEXT NOT NULL CHECK (json_valid(dims_json)),
  attributes_json TEXT NOT NULL CHECK (json_valid(attributes_json)),
  attribute_numbers_json TEXT NOT NULL CHECK (json_valid(attribute_numbers_json)),
  layout         TEXT NOT NULL,
  distribution   TEXT NOT NULL,
  upstream       TEXT,
  saved          TEXT,
  dtypes_json    TEXT NOT NULL CHECK (json_valid(dtypes_json))
) STRICT;
CREATE INDEX test_case_by_op ON test_case (op, pass, dtype);

-- What each status counts as when an exit code is decided.
CREATE TABLE status (
  status TEXT PRIMARY KEY,
  weight TEXT NOT NULL CHECK (weight IN ('good', 'neutral', 'bad'))
) STRICT, WITHOUT ROWID;
INSERT INTO status (status, weight) VALUES
  ('PASS', 'good'), ('WARN', 'good'),
  ('DIFFERENT_CONTRACT', 'neutral'), ('EMPTY_OK', 'neutral'), ('NO_POWER', 'neutral'), ('UNSUPPORTED', 'neutral'), ('MISSING', 'neutral'),
  ('SKIPPED', 'neutral'), ('UNAVAILABLE', 'neutral'), ('INTERRUPTED', 'neutral'), ('UNSTABLE', 'neutral'),
  ('INCONCLUSIVE', 'bad'), ('FAIL', 'bad'), ('RACE', 'bad'), ('OUT_OF_BOUNDS', 'bad'), ('DIVERGENT', 'bad'), ('DEADLOCK', 'bad'),
  ('CRASH', 'bad'), ('HANG', 'bad'), ('OOM', 'bad'), ('BUILD_FAIL', 'bad'), ('FLAKY', 'bad'), ('IMPOSSIBLE', 'bad');

-- What a session is to run; written before anything runs, so that what is missing can be named.
CREATE TABLE plan (
  plan_id        INTEGER PRIMARY KEY,
  session_id     INTEGER NOT NULL REFERENCES session,
  position       INTEGER NOT NULL,
  case_id        INTEGER NOT NULL REFERENCES test_case,
  implementation TEXT NOT NULL,              -- its name: which source it has is known when it runs
  seed           TEXT NOT NULL,
  UNIQUE (session_id, case_id, implementation, seed),
  UNIQUE (session_id, position)
) STRICT;

CREATE TABLE run (
  run_id            INTEGER PRIMARY KEY,
  run_ulid          TEXT NOT NULL UNIQUE,
  session_id        INTEGER NOT NULL REFERENCES session,
  plan_id           INTEGER NOT NULL REFERENCES plan,
  case_id           INTEGER NOT NULL REFERENCES test_case,
  implementation_id INTEGER REFERENCES implementation,        -- NULL while it runs, and where it was interrupted
  seed              TEXT NOT NULL,
  status            TEXT REFERENCES status,                   -- NULL while it runs
  device            TEXT NOT NULL DEFAULT '',
  contract          TEXT NOT NULL DEFAULT '',
  message           TEXT NOT NULL DEFAULT '',
  where_json        TEXT CHECK (where_json IS NULL OR json_valid(where_json)),
  log_tail          TEXT NOT NULL DEFAULT '',
  launches          INTEGER NOT NULL DEFAULT 0,
  harness_wall_ns   INTEGER NOT NULL DEFAULT 0,               -- of the harness, emulation included: never a kernel's time
  peak_memory_bytes INTEGER NOT NULL DEFAULT 0,
  started_utc       TEXT NOT NULL,
  recorded_utc      TEXT
) STRICT;
-- Each entry of a plan is recorded exactly once, however often the session is resumed.
CREATE UNIQUE INDEX run_once ON run (plan_id) WHERE status IS NULL OR status <> 'INTERRUPTED';
CREATE INDEX run_by_session ON run (session_id);
CREATE INDEX run_by_case ON run (case_id, implementation_id, run_ulid);

CREATE TABLE verdict (
  run_id         INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  position       INTEGER NOT NULL,
  output         TEXT NOT NULL,
  status         TEXT NOT NULL REFERENCES status,
  gate           TEXT NOT NULL,
  message        TEXT NOT NULL,
  n              INTEGER NOT NULL,
  n_compared     INTEGER NOT NULL,
  n_wrong        INTEGER NOT NULL,
  worst_index_json TEXT CHECK (worst_index_json IS NULL OR json_valid(worst_index_json)),
  got REAL, got_class TEXT, want REAL, want_class TEXT, low REAL, low_class TEXT, high REAL, high_class TEXT,
  headroom REAL, headroom_class TEXT, ulp_max REAL, ulp_max_class TEXT, ulp_mean REAL, ulp_mean_class TEXT,
  pattern        TEXT NOT NULL,              -- what is regular about the wrong elements, '' where nothing is
  judge_version  TEXT NOT NULL,
  PRIMARY KEY (run_id, output),
  CHECK (worst_index_json IS NULL OR (got_class IS NOT NULL AND want_class IS NOT NULL AND low_class IS NOT NULL AND high_class IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE difference (
  run_a_id       INTEGER NOT NULL REFERENCES run,
  run_b_id       INTEGER NOT NULL REFERENCES run,
  output         TEXT NOT NULL,
  n              INTEGER NOT NULL,
  bitwise        INTEGER NOT NULL CHECK (bitwise IN (0, 1)),   -- every bit is equal
  n_different    INTEGER NOT NULL,           -- elements whose values differ: NaN equals NaN here, and -0 equals +0
  ulp_max REAL, ulp_max_class TEXT,          -- 'inf' where one is NaN or infinite and the other is not
  worst_index_json TEXT CHECK (worst_index_json IS NULL OR json_valid(worst_index_json)),
  worst_a REAL, worst_a_class TEXT, worst_b REAL, worst_b_class TEXT,
  PRIMARY KEY (run_a_id, run_b_id, output)
) STRICT, WITHOUT ROWID;
CREATE INDEX difference_by_b ON difference (run_b_id);

-- Measured on a device only. Arrays are JSON, so that json_each reads them in any client.
CREATE TABLE timing (
  run_id            INTEGER NOT NULL REFERENCES run,
  regime            TEXT NOT NULL,           -- 'cold' or 'warm', 'burst' or 'sustained'
  n                 INTEGER NOT NULL,
  median_ns         REAL NOT NULL,
  low_ns            REAL NOT NULL,           -- 95 % interval of the median
  high_ns           REAL NOT NULL,
  samples_ns_json   TEXT NOT NULL CHECK (json_valid(samples_ns_json) AND json_array_length(samples_ns_json) = n),
  rounds_json       TEXT NOT NULL CHECK (json_valid(rounds_json)),
  arms_json         TEXT NOT NULL CHECK (json_valid(arms_json)),
  clocks_mhz_json   TEXT NOT NULL CHECK (json_valid(clocks_mhz_json)),
  temperature_c     REAL,
  throttle_mask     INTEGER,
  n_discarded       INTEGER NOT NULL,
  discarded_because TEXT NOT NULL,
  bytes             INTEGER,                 -- moved at least, by the operator's definition
  flops             INTEGER,
  status            TEXT NOT NULL REFERENCES status,
  PRIMARY KEY (run_id, regime)
) STRICT, WITHOUT ROWID;

-- Ceilings measured in a session: what the device can do at best.
CREATE TABLE ruler (
  session_id INTEGER NOT NULL REFERENCES session,
  name       TEXT NOT NULL,                  -- 'copy', 'read', 'write', ...
  bytes_per_second REAL,
  flops_per_second REAL,
  samples_ns_json  TEXT NOT NULL CHECK (json_valid(samples_ns_json)),
  PRIMARY KEY (session_id, name)
) STRICT, WITHOUT ROWID;

-- Two implementations timed in interleaved rounds; a ratio above 1 says that a takes longer.
CREATE TABLE comparison (
  run_a_id    INTEGER NOT NULL REFERENCES run,
  run_b_id    INTEGER NOT NULL REFERENCES run,
  regime      TEXT NOT NULL,
  ratios_json TEXT NOT NULL CHECK (json_valid(ratios_json)),   -- one a round
  ratio       REAL NOT NULL,
  ratio_low   REAL NOT NULL,
  ratio_high  REAL NOT NULL,
  word        TEXT NOT NULL CHECK (word IN ('FASTER', 'SLOWER', 'SAME', 'AMBIGUOUS')),
  PRIMARY KEY (run_a_id, run_b_id, regime)
) STRICT, WITHOUT ROWID;

-- Every recorded run with the names that people ask by; newest last by run_ulid.
CREATE VIEW history AS
  SELECT r.run_id, r.run_ulid, s.session_ulid, r.recorded_utc, c.op, c.pass, c.dtype, c.dims_json, c.attributes_json, c.layout, c.distribution,
         c.upstream, c.saved, c.case_key, r.seed, i.name AS implementation, i.backend, i.variant, i.source_hash, r.device, r.status, w.weight,
         r.contract, r.message, r.harness_wall_ns, s.version, s.commit_hash,
         (SELECT min(headroom) FROM verdict v WHERE v.run_id = r.run_id) AS headroom,
         (SELECT max(ulp_max) FROM verdict v WHERE v.run_id = r.run_id) AS ulp_max
  FROM run r
  JOIN session s USING (session_id)
  JOIN test_case c USING (case_id)
  JOIN implementation i USING (implementation_id)
  JOIN status w USING (status)
  WHERE r.status <> 'INTERRUPTED';

-- The newest run of each implementation on each case.
CREATE VIEW latest AS
  SELECT * FROM history h
  WHERE NOT EXISTS (
    SELECT 1 FROM run r JOIN implementation i USING (implementation_id)
    WHERE r.case_id = (SELECT case_id FROM run WHERE run_id = h.run_id) AND i.name = h.implementation AND r.status <> 'INTERRUPTED'
      AND r.run_ulid > h.run_ulid);

-- What needs a look: latest runs that end bad, and pairs of latest runs, both good, of which one gives NaN or an infinity where the other does not.
CREATE VIEW disagreements AS
  SELECT 'run' AS kind, run_ulid, NULL AS other_run_ulid, op, pass, dtype, dims_json, implementation, NULL AS other_implementation, status,
         message
  FROM latest WHERE weight = 'bad'
  UNION ALL
  SELECT 'pair', a.run_ulid, b.run_ulid, a.op, a.pass, a.dtype, a.dims_json, a.implementation, b.implementation, a.status,
         d.output || ': ' || d.n_different || ' of ' || d.n || ' elements differ'
  FROM difference d JOIN latest a ON a.run_id = d.run_a_id JOIN latest b ON b.run_id = d.run_b_id
  WHERE a.weight = 'good' AND b.weight = 'good' AND d.ulp_max_class <> 'finite';

-- The newest timing of each implementation on each case; only what passed is timed.
CREATE VIEW speed AS
  SELECT l.*, t.regime, t.n, t.median_ns, t.low_ns, t.high_ns, t.n_discarded, t.bytes, t.flops, t.status AS timing_status,
         t.bytes / t.median_ns AS gigabytes_per_second, t.flops / t.median_ns AS gigaflops_per_second
  FROM latest l JOIN timing t USING (run_id);
