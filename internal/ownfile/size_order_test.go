package ownfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/params"
	"triad/internal/ownfile/shim"
)

// What a file unpacks its tensors into, or a comment, gives the order of their sizes; both orders, or names
// of other things, give none.
func TestSizeOrder(t *testing.T) {
	for words, want := range map[string]string{
		"B, S, H, D = q.shape":                            "exchanged",
		"(batch, seq_len, num_heads, head_dim) = q.shape": "exchanged",
		"B, H, S, D = q.size()":                           "plain",
		"B, H, S, _ = k.shape  # as ever":                 "plain",
		"# [batch, seq, heads, head_dim]":                 "exchanged",
		"\"\"\"q: (B, H, N, D)\"\"\"":                     "plain",
		"# (B, S, H, D) -> (B, H, S, D)":                  "",
		"B, S, H, D = other.shape":                        "",
		"H, B, S, D = q.shape":                            "",
		"a, b, c, d = q.shape":                            "",
		"x = f(B, S, H, D)":                               "",
	} {
		text := "def attention(q, k, v):\n    " + words + "\n    return q\n"
		all, err := Bind(ReadPython(text, parsed), binding.Request{Path: "mine.py", Parse: parsed},
			headsAndTokens(t),
			[]op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		got := map[bool]string{true: "plain"}[all[0].Ordered]
		if slices.ContainsFunc(all[0].Args,
			func(a binding.Argument) bool { return a.Adapter == layout.BSHD }) {
			got = "exchanged"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
		assumed := slices.ContainsFunc(Assumptions(all[0]), func(a binding.Assumption) bool {
			return a.Kind == binding.GuessedLayout
		})
		if assumed != (want == "") {
			t.Errorf("%s: the order is assumed: %v", words, assumed)
		}
	}
}

// What a function says of the order itself goes before what the file says elsewhere.
func TestSizeOrderOfTheFunction(t *testing.T) {
	const text = `
def forward(q, k, v):
    batch, nheads, seqlen_q, d = q.shape
    return q

def attention(q, k, v):
    """
    q: (batch, seqlen_q, nheads, d)
    """
    return forward(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)
`
	file := ReadPython(text, parsed)
	for name, exchanged := range map[string]bool{"forward": false, "attention": true} {
		at := slices.IndexFunc(file.Functions, func(fn cfacts.Function) bool { return fn.Name == name })
		b, err := params.Match(file, file.Functions[at], headsAndTokens(t), op.Forward, binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.HasAdapter(layout.BSHD); !b.Ordered || got != exchanged {
			t.Errorf("%s: ordered %t, exchanged %t, want %t", name, b.Ordered, got, exchanged)
		}
	}
}

// Tensors with rows of width d_model are passed so, and results are copied back.
func TestModelWidth(t *testing.T) {
	const text = "def solve(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, output: torch.Tensor, " +
		"N: int, d_model: int, h: int):\n    pass\n"
	all, err := Bind(ReadPython(text, parsed), binding.Request{Path: "mine.py", Parse: parsed},
		headsAndTokens(t),
		[]op.Pass{op.Forward}, binding.Options{})
	if err != nil {
		t.Fatal(err)
	}
	shim := shim.PythonShim("mine.py", "mine/mine", all)
	for _, words := range []string{
		"in_k = in_k.transpose(1, 2).reshape((dim_seq_kv, dim_heads_kv * dim_head_dim,)).contiguous()",
		"out_o = torch.empty((dim_seq_q, dim_heads_q * dim_head_dim_v,)",
		"return given((exchanged(out_o, (dim_batch, dim_heads_q, dim_seq_q, dim_head_dim_v,)))",
	} {
		if !strings.Contains(shim, words) {
			t.Errorf("no %q in\n%s", words, shim)
		}
	}
}
