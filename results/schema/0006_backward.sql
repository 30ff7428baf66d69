-- What a timed backward starts from: what a forward saved, a graph that autograd has kept, or nothing, its forward being timed with it.
-- '' for a forward, and for timings recorded before this was told: of rows that go through autograd these are of the pair.
ALTER TABLE timing ADD COLUMN backward TEXT NOT NULL DEFAULT '' CHECK (backward IN ('', 'saved tensors', 'retained graph', 'forward+backward'));
