package op

import "testing"

// TestDTypeNamed: torch's names of dtypes are those of flags; any other text stays.
func TestDTypeNamed(t *testing.T) {
	for typed, want := range map[string]string{
		"bfloat16": "bf16", "torch.bfloat16": "bf16", "half": "fp16", "float32": "fp32", "bf16": "bf16",
		"torch.nothing": "torch.nothing", "int8": "int8", "e5m2_e4m3": "e5m2_e4m3",
	} {
		if got := DTypeNamed(typed); got != want {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
}
