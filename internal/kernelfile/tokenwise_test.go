package kernelfile

import (
	"strings"
	"testing"
)

// One tensor that the lines split along its third size holds queries, keys and values; one that they split
// along another is refused.
func TestThreeInOneTensor(t *testing.T) {
	s := headsAndTokens(t)
	for parted, stacked := range map[string]bool{
		"qkv.unbind(2)": true, "qkv.unbind(dim=-3)": true, "torch.unbind(qkv, 2)": true,
		"qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]": true,
		"qkv.unbind(0)": false, "qkv[:, 0], qkv[:, 1]": false,
	} {
		text := "def f(qkv):\n    q, k, v = " + parted + "\n    return q + k + v\n"
		r := Request{Path: "mine.py", Parse: parsed}
		bindings, err := Bind(r.Read(text, nil), r, s, s.Passes(), Options{})
		if got := err == nil && strings.Contains(PythonShim("mine.py", "mine/mine", bindings),
			"_MODULE.f(torch.stack((in_q, in_k, in_v), dim=2))"); got != stacked {
			t.Errorf("%s: %v %v", parted, got, err)
		}
	}
}
