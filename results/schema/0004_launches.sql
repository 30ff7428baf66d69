-- The kernels that one timed call launches: grid, block, registers, shared memory, occupancy (docs/json.md).
ALTER TABLE timing ADD COLUMN kernels_json TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(kernels_json));
