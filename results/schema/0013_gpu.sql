-- The GPU on which a run was, by its place on the bus (00000000:1B:00.0), '' where there was none or it is not known: of the parts of a session each may have run on another.
ALTER TABLE run ADD COLUMN gpu TEXT NOT NULL DEFAULT '';
