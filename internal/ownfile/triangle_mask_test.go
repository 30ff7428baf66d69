package ownfile

import (
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// A triangular mask that the lines always apply is a switch that is on. One that counts from the first query
// and key is the operator's if there are equally many of both.
func TestTriangleMask(t *testing.T) {
	for body, want := range map[string]string{
		"s = torch.where(i[:, None] >= j[None, :], s, low)":                         "on, square",
		"s = torch.where(j[None, :] <= i[:, None], s, low)":                         "on, square",
		"s = torch.where(i[:, None] + k.shape[2] - q.shape[2] >= j[None, :], s, 0)": "on",
		"s = torch.where(i.view(-1, 1) >= j.view(1, -1), s, low)":                   "on, square",
		"s = torch.where(i.unsqueeze(1) < j.unsqueeze(0), low, s)":                  "on, square",
		"s = torch.where(i[None, :, None] - j[None, None, :] >= 0, s, low)":         "on, square",
		"a = i[:, None]\n    b = j[None]\n    s = torch.where(a >= b, s, low)":      "on, square",
		"a = i[:, None]\n    s = torch.where(a >= n, s, low)":                       "",
		"s = torch.where(i[:, None] - j[None, :] < 128, s, low)":                    "",
		"s = s + torch.triu(low, diagonal=1)":                                       "on, square",
		"s = s + torch.tril(low, diagonal=n - m)":                                   "on",
		"causal_mask = j <= i\n    s = torch.where(causal_mask, s, low)":            "on",
		"return sdpa(q, k, v, is_causal=True)":                                      "on, square",
		"return sdpa(q, k, v, is_causal=False)":                                     "",
		"return sdpa(q, k, v, is_causal=CAUSAL)":                                    "",
		"return sdpa(q, k, v, is_causal=THE_SWITCH)":                                "",
		"return sdpa(q, k, v, is_causal=0)":                                         "",
		"if full:\n        s = s * torch.tril(low)":                                 "",
		"s = s * torch.tril(low) if full else s":                                    "",
		"s = torch.where((i[:, None] < n) & (j[None, :] < n), s, low)":              "",
		"s = torch.where(i[:, None] < n, s, low)  # i[:, None] >= j[None, :]":       "",
		"return (q @ k).softmax(-1) @ v":                                            "",
	} {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		text := "def attention(q, k, v):\n    " + body + "\n    return s\n"
		all, err := Bind(Read(r, text, nil), r, headsAndTokens(t), []op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, got := all[0], ""
		for name := range b.Spec.Own.Triangle {
			if b.MasksTriangle(name) {
				got = "on"
			}
		}
		if len(b.SquareMasks()) > 0 {
			got += ", square"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// If a parameter sets a switch, the lines do not.
func TestMaskOfAParameter(t *testing.T) {
	for _, parameter := range []string{"causal=True", "mask=None"} {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		text := "def attention(q, k, v, " + parameter + "):\n    return f(i[:, None] >= j[None, :])\n"
		all, err := Bind(Read(r, text, nil), r, headsAndTokens(t), []op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name := range all[0].Spec.Own.Triangle {
			if all[0].MasksTriangle(name) {
				t.Errorf("%s: %s is on", parameter, name)
			}
		}
	}
}

// Integer expressions have the value that they have in C++, or none.
func TestIntegersAlone(t *testing.T) {
	for words, want := range map[string]int64{
		"(1 << 4)": 16, "8*1024": 8192, "12u": 12, "0x10UL": 16,
		"8*4 - 2": 30,
	} {
		if got, ok := cfacts.IntegerValue(words); !ok || got != want {
			t.Errorf("%s is %d, want %d", words, got, want)
		}
	}
	// the bitwise ones are 32, 1 and 6 in C++, and differ in Go
	for _, words := range []string{"1.5", "1 << 2 + 3", "4 + 3 & 1", "6 & 3 * 2 + 0", ""} {
		if got, ok := cfacts.IntegerValue(words); ok {
			t.Errorf("%q is taken for the integer %d", words, got)
		}
	}
}
