-- A database of triad 0.1.0, with a session of three results, as sqlite3 .dump writes it. It never changes: a
-- migration that is edited after its release no longer reads this.
PRAGMA application_id = 1414678849;
PRAGMA user_version = 9;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
INSERT INTO machine VALUES(1,'a89acdc145405513','linux','','','test',2,0,'',0,'');
CREATE TABLE toolchain (
  toolchain_id  INTEGER PRIMARY KEY,
  content_hash  TEXT NOT NULL UNIQUE,
  versions_json TEXT NOT NULL CHECK (json_valid(versions_json))
) STRICT;
INSERT INTO toolchain VALUES(1,'ea2ad8ceca84332a','{"g++":"12"}');
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
, internal_error TEXT) STRICT;
INSERT INTO session VALUES(1,'01M8K9YYDZDKW6NADMCDCTTZ2E','all of it','["compare","softmax"]','1','','quick','7','["my.cu"]',1,1,'2026-11-29T09:25:15.327Z',NULL,'running',NULL,NULL);
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
INSERT INTO implementation VALUES(1,'softmax','cuda/warp','cuda','warp','abc123','{"compiler":"g++ 12","flags":["-O2"],"seconds":1.5,"cached":false,"kernels":[{"kernel":"k","arch":"sm_80","registers":32,"shared_bytes":0,"spill_bytes":0}]}');
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
INSERT INTO test_case VALUES(1,'638573e781cf4adc','softmax','forward','bf16','{"rows":0,"cols":1000}','{"scaling":"block","eps":"7.6293945e-06"}','[2,0.00000762939453125]','contiguous','normal',NULL,NULL,'{"x":"bf16","y":"bf16"}');
INSERT INTO test_case VALUES(2,'a7b857a44bea6b39','softmax','forward','bf16','{"rows":1,"cols":1000}','{"scaling":"block","eps":"7.6293945e-06"}','[2,0.00000762939453125]','contiguous','normal',NULL,NULL,'{"x":"bf16","y":"bf16"}');
INSERT INTO test_case VALUES(3,'05a7671e8373b3d6','softmax','forward','bf16','{"rows":2,"cols":1000}','{"scaling":"block","eps":"7.6293945e-06"}','[2,0.00000762939453125]','contiguous','normal',NULL,NULL,'{"x":"bf16","y":"bf16"}');
INSERT INTO test_case VALUES(4,'853edc62e7f44d12','softmax','forward','bf16','{"rows":3,"cols":1000}','{"scaling":"block","eps":"7.6293945e-06"}','[2,0.00000762939453125]','contiguous','normal',NULL,NULL,'{}');
CREATE TABLE status (
  status TEXT PRIMARY KEY,
  weight TEXT NOT NULL CHECK (weight IN ('good', 'neutral', 'bad'))
) STRICT, WITHOUT ROWID;
INSERT INTO status VALUES('BUILD_FAIL','bad');
INSERT INTO status VALUES('CRASH','bad');
INSERT INTO status VALUES('DEADLOCK','bad');
INSERT INTO status VALUES('DIFFERENT_CONTRACT','neutral');
INSERT INTO status VALUES('DIVERGENT','bad');
INSERT INTO status VALUES('EMPTY_OK','neutral');
INSERT INTO status VALUES('FAIL','bad');
INSERT INTO status VALUES('FLAKY','bad');
INSERT INTO status VALUES('HANG','bad');
INSERT INTO status VALUES('IMPOSSIBLE','bad');
INSERT INTO status VALUES('INCONCLUSIVE','bad');
INSERT INTO status VALUES('INTERRUPTED','neutral');
INSERT INTO status VALUES('KNOWN','neutral');
INSERT INTO status VALUES('MISSING','neutral');
INSERT INTO status VALUES('NO_POWER','neutral');
INSERT INTO status VALUES('OOM','bad');
INSERT INTO status VALUES('OUT_OF_BOUNDS','bad');
INSERT INTO status VALUES('PASS','good');
INSERT INTO status VALUES('RACE','bad');
INSERT INTO status VALUES('SKIPPED','neutral');
INSERT INTO status VALUES('UNAVAILABLE','neutral');
INSERT INTO status VALUES('UNSTABLE','neutral');
INSERT INTO status VALUES('UNSUPPORTED','neutral');
INSERT INTO status VALUES('WARN','good');
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
INSERT INTO "plan" VALUES(1,1,0,1,'cuda/warp','18446744073709551614');
INSERT INTO "plan" VALUES(2,1,1,2,'cuda/warp','18446744073709551614');
INSERT INTO "plan" VALUES(3,1,2,3,'cuda/warp','18446744073709551614');
INSERT INTO "plan" VALUES(4,1,3,4,'cuda/warp','18446744073709551614');
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
INSERT INTO run VALUES(1,'01M8K9YYE7D6W2ZWY1Y2DN40FF',1,1,1,1,'18446744073709551614','FAIL','emulator','fp32','y[3,999] is NaN','{"kernel":"softmax_warp","block":[1,2,3],"file":"softmax.cu","line":7}','tail',4,1234567,99,'2026-01-02T03:04:05.678Z','2026-11-29T09:25:15.335Z');
INSERT INTO run VALUES(2,'01M8K9YYEAFGFNAGJBN663PMN8',1,2,2,1,'18446744073709551614','PASS','emulator','fp32','y[3,999] is NaN','{"kernel":"softmax_warp","block":[1,2,3],"file":"softmax.cu","line":7}','tail',4,1234567,99,'2026-01-02T03:04:05.678Z','2026-11-29T09:25:15.338Z');
INSERT INTO run VALUES(3,'01M8K9YYECBJQKKEYQTJG4V0Y0',1,3,3,1,'18446744073709551614','PASS','emulator','fp32','y[3,999] is NaN','{"kernel":"softmax_warp","block":[1,2,3],"file":"softmax.cu","line":7}','tail',4,1234567,99,'2026-01-02T03:04:05.678Z','2026-11-29T09:25:15.340Z');
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
  judge_version  TEXT NOT NULL, relations_planned INTEGER NOT NULL DEFAULT 0, n_covered INTEGER NOT NULL DEFAULT 0, statistics_json TEXT CHECK (statistics_json IS NULL OR json_valid(statistics_json)),
  PRIMARY KEY (run_id, output),
  CHECK (worst_index_json IS NULL OR (got_class IS NOT NULL AND want_class IS NOT NULL AND low_class IS NOT NULL AND high_class IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO verdict VALUES(1,0,'y','FAIL','','',8,8,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.5,'finite',NULL,NULL,NULL,NULL,'','1',0,0,NULL);
INSERT INTO verdict VALUES(2,0,'y','PASS','','',8,8,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.5,'finite',NULL,NULL,NULL,NULL,'','1',0,0,NULL);
INSERT INTO verdict VALUES(3,0,'y','PASS','','',8,8,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.5,'finite',NULL,NULL,NULL,NULL,'','1',0,0,NULL);
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
INSERT INTO difference VALUES(1,2,'y',8,1,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
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
  status            TEXT NOT NULL REFERENCES status, message TEXT NOT NULL DEFAULT '', min_ns REAL NOT NULL DEFAULT 0, p10_ns REAL NOT NULL DEFAULT 0, p90_ns REAL NOT NULL DEFAULT 0, roofline REAL, clock_mhz REAL, power_w REAL, mode TEXT NOT NULL DEFAULT 'graph' CHECK (mode IN ('graph', 'events')), sets INTEGER NOT NULL DEFAULT 1, calls INTEGER NOT NULL DEFAULT 1, rotated_bytes INTEGER NOT NULL DEFAULT 0, kernels_json TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(kernels_json)), backward TEXT NOT NULL DEFAULT '' CHECK (backward IN ('', 'saved tensors', 'retained graph', 'forward+backward')),
  PRIMARY KEY (run_id, regime)
) STRICT, WITHOUT ROWID;
INSERT INTO timing VALUES(2,'cold',1,5.0,4.0,6.0,'[5]','[0]','[0]','[]',NULL,NULL,0,'',NULL,NULL,'PASS','',0.0,0.0,0.0,NULL,NULL,NULL,'graph',1,1,0,'[]','');
INSERT INTO timing VALUES(3,'cold',1,5.0,4.0,6.0,'[5]','[0]','[0]','[]',NULL,NULL,0,'',NULL,NULL,'PASS','',0.0,0.0,0.0,NULL,NULL,NULL,'graph',1,1,0,'[]','');
CREATE TABLE ruler (
  session_id INTEGER NOT NULL REFERENCES session,
  name       TEXT NOT NULL,                  -- 'copy', 'read', 'write', ...
  bytes_per_second REAL,
  flops_per_second REAL,
  samples_ns_json  TEXT NOT NULL CHECK (json_valid(samples_ns_json)),
  PRIMARY KEY (session_id, name)
) STRICT, WITHOUT ROWID;
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
INSERT INTO comparison VALUES(2,2,'cold','[1]',1.0,1.0,1.0,'SAME');
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
CREATE INDEX session_by_request ON session (request, session_ulid);
CREATE INDEX test_case_by_op ON test_case (op, pass, dtype);
CREATE UNIQUE INDEX run_once ON run (plan_id) WHERE status IS NULL OR status <> 'INTERRUPTED';
CREATE INDEX run_by_session ON run (session_id);
CREATE INDEX run_by_case ON run (case_id, implementation_id, run_ulid);
CREATE INDEX difference_by_b ON difference (run_b_id);
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
CREATE VIEW latest AS
  SELECT * FROM history h
  WHERE NOT EXISTS (
    SELECT 1 FROM run r JOIN implementation i USING (implementation_id)
    WHERE r.case_id = (SELECT case_id FROM run WHERE run_id = h.run_id) AND i.name = h.implementation AND r.status <> 'INTERRUPTED'
      AND r.run_ulid > h.run_ulid);
CREATE VIEW disagreements AS
  SELECT 'run' AS kind, run_ulid, NULL AS other_run_ulid, op, pass, dtype, dims_json, implementation, NULL AS other_implementation, status,
         message
  FROM latest WHERE weight = 'bad'
  UNION ALL
  SELECT 'pair', a.run_ulid, b.run_ulid, a.op, a.pass, a.dtype, a.dims_json, a.implementation, b.implementation, a.status,
         d.output || ': ' || d.n_different || ' of ' || d.n || ' elements differ'
  FROM difference d JOIN latest a ON a.run_id = d.run_a_id JOIN latest b ON b.run_id = d.run_b_id
  WHERE a.weight = 'good' AND b.weight = 'good' AND d.ulp_max_class <> 'finite';
CREATE VIEW speed AS
  SELECT l.*, t.regime, t.n, t.median_ns, t.low_ns, t.high_ns, t.n_discarded, t.bytes, t.flops, t.status AS timing_status,
         t.bytes / t.median_ns AS gigabytes_per_second, t.flops / t.median_ns AS gigaflops_per_second
  FROM latest l JOIN timing t USING (run_id);
COMMIT;
