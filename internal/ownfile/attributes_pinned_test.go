package ownfile

import (
	"reflect"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
)

// What a function has no parameter for is said by its name where it can be, else by the default, and the
// shapes are ones that it can take.
func TestWhatHasNoParameterIsPinned(t *testing.T) {
	const params = "(const float* q, const float* k, const float* v, float* o, int B, int H, int T, int D)"
	for text, causal := range map[string]string{
		`void causal_attention` + params +
			` { k<<<1, 1>>>(q); }`: "true",
		`void noncausal_attention` + params +
			` { k<<<1, 1>>>(q); }`: "false",
		`__global__ void attnCausal(float* x) {} void solve` + params +
			` { attnCausal<<<1, 1>>>((float *)q); }`: "true",
		`void solve` + params + ` { k<<<1, 1>>>(q); }`: "false",
	} {
		all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, spec(t, "flash_attention"),
			[]op.Pass{op.Forward},
			binding.Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := all[0].Pins()["causal"]; got != causal {
			t.Errorf("%s: causal = %s, want %s", text, got, causal)
		} else if got, want := extents.Equal(all[0]), [][]string{
			{"heads_q", "heads_kv"},
			{"seq_q", "seq_kv"},
		}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: equal %v, want %v", text, got, want)
		}
	}
}
