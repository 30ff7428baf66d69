-- What a timing needs beside its samples to be read years later. ns of one call, as before.
ALTER TABLE timing ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE timing ADD COLUMN min_ns REAL NOT NULL DEFAULT 0;
ALTER TABLE timing ADD COLUMN p10_ns REAL NOT NULL DEFAULT 0;
ALTER TABLE timing ADD COLUMN p90_ns REAL NOT NULL DEFAULT 0;
ALTER TABLE timing ADD COLUMN roofline REAL;               -- share of what the rulers of the session allow
ALTER TABLE timing ADD COLUMN clock_mhz REAL;              -- median
ALTER TABLE timing ADD COLUMN power_w REAL;                -- median
ALTER TABLE timing ADD COLUMN mode TEXT NOT NULL DEFAULT 'graph' CHECK (mode IN ('graph', 'events'));
ALTER TABLE timing ADD COLUMN sets INTEGER NOT NULL DEFAULT 1;
ALTER TABLE timing ADD COLUMN calls INTEGER NOT NULL DEFAULT 1;      -- in one replay of the graph
ALTER TABLE timing ADD COLUMN rotated_bytes INTEGER NOT NULL DEFAULT 0;
