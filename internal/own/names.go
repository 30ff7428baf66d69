package own

import (
	"slices"
	"strings"

	"triad/internal/op"
)

// Scores of a name: the spec's own, one of its synonyms (earlier ones more), a weak one that means something else elsewhere.
const (
	scoreExact = 100
	scoreFirst = 90
	scoreWeak  = 30
)

// synonyms are what people call the tensors, sizes and attributes of an operator; after | stand weak ones. "*" holds for every operator.
// A size in brackets is a product or several that must be equal: what one parameter may stand for.
var synonyms = map[string]map[string]string{
	"softmax": {
		"x": "input logits scores in inp src data a s z", "y": "output out probs p dst result res o b c softmax",
		"rows": "m batch b bs bsz height h r outer tokens t seq seq_len seqlen l nrow batches bt | n", "cols": "n d c v width w dim hidden features vocab classes k inner size length len ncol vocab_size row_size row_len stride | m",
	},
	"layernorm": {
		"x": "input in inp src data a", "y": "output out dst result res o c", "weight": "gamma w scale g", "bias": "beta shift b",
		"mean": "mu means m", "rstd": "inv_std invstd rs rsigma inv_stddev",
		"rows": "m batch b bs bsz height h r outer tokens t seq seq_len seqlen l bt batches | n", "cols": "n d c width w dim hidden features k inner size length len normalized_shape embed e | m",
		"eps": "epsilon",
	},
	"swiglu": {
		"gate": "g x1 a input1 in1 x gates w1 x_gate | input", "up": "u x2 b input2 in2 v value linear w3 x_up", "y": "output out dst result res o c h z",
		"rows": "m batch b bs height h r tokens t seq outer | n", "cols": "n d width w dim hidden k ffn features inner intermediate | m",
		"rows * cols": "n size total numel elements length len count total_elements total_size t",
	},
	"rope": {
		"q": "query queries xq q_in", "k": "key keys xk k_in", "cos": "cosine cos_table cos_cache freqs_cos", "sin": "sine sin_table sin_cache freqs_sin",
		"q_out": "out_q output_q oq qo q_rot q_embed xq_out yq query_out", "k_out": "out_k output_k ok ko k_rot k_embed xk_out yk key_out",
		"batch": "b bs bsz batches n", "seq": "t s seq_len seqlen l length n_ctx context", "heads_q": "hq q_heads heads h num_heads nh", "heads_k": "hk hkv kv_heads k_heads heads_kv num_kv_heads",
		"head_dim": "d dim hd head_size dh", "max_pos": "max_seq max_seq_len max_len max_position",
		"heads_q = heads_k": "heads h nh n_head", "batch * seq": "tokens n total_tokens m",
		"offset": "pos start position start_pos pos_offset",
	},
	"fp8_gemm": {
		"a": "x lhs left mat_a", "b": "w y rhs right mat_b weight", "c": "out output d result y res o mat_c", "scale_a": "a_scale sa scalea as xs inv_scale_a", "scale_b": "b_scale sb scaleb bs ws inv_scale_b",
		"m": "rows", "n": "cols", "k": "inner depth", "m = n = k": "n size dim width w",
	},
	"flash_attention": {
		"q": "query queries", "k": "key keys", "v": "value values", "o": "out output result y res dst", "lse": "l logsumexp log_sum_exp softmax_lse",
		"batch": "b bs bsz batches", "heads_q": "h hq q_heads heads nh n_head num_q_heads", "heads_kv": "hk hkv kv_heads k_heads num_kv_heads",
		"seq_q": "m n_q lq sq q_len len_q tq seqlen_q t seq_len", "seq_kv": "n n_k n_kv lk sk lkv skv k_len kv_len len_k tk seqlen_k seq_k seqlen_kv s", "head_dim": "d dim hd head_size dh d_k e d_head | k",
		"heads_q = heads_kv": "h heads nh n_head", "seq_q = seq_kv": "n seq t s seq_len seqlen l length n_ctx context", "batch * heads_q": "bh",
		"causal": "is_causal use_causal mask", "scale": "softmax_scale sm_scale scaling alpha",
	},
}

// products are the sizes that one parameter may stand for beside the dims, by operator: "a * b" a product, "a = b" several equal ones.
func products(operator string) []string {
	var all []string
	for name := range synonyms[operator] {
		if strings.ContainsAny(name, "*=") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// snake writes a name in small letters with underscores: "numRows" becomes num_rows.
func snake(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			small := func(at int) bool { return at < len(name) && name[at] >= 'a' && name[at] <= 'z' }
			if i > 0 && (small(i-1) || name[i-1] >= '0' && name[i-1] <= '9' || name[i-1] >= 'A' && name[i-1] <= 'Z' && small(i+1)) {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return strings.Trim(b.String(), "_")
}

// forms are a name as written in small letters, then without what people put around it: "d_input" is also input, "n_rows" also rows.
func forms(name string) []string {
	s := snake(name)
	all := []string{s}
	add := func(x string) {
		if x != "" && !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	for i := 0; i < len(all) && len(all) < 24; i++ {
		w := all[i]
		for _, prefix := range []string{"d_", "dev_", "device_", "gpu_", "g_", "n_", "num_", "p_", "ptr_", "in_", "the_", "h_", "total_"} {
			if rest, ok := strings.CutPrefix(w, prefix); ok {
				add(rest)
			}
		}
		for _, suffix := range []string{"_d", "_dev", "_device", "_gpu", "_ptr", "_data", "_tensor", "_size", "_dim", "_len", "_count", "_matrix", "_buf", "_f32", "_half", "_fp16"} {
			if rest, ok := strings.CutSuffix(w, suffix); ok {
				add(rest)
			}
		}
		add(strings.ReplaceAll(w, "_", ""))
	}
	return all
}

// score says how well a parameter's name fits what the spec calls target, 0 where it does not.
func score(spec *op.Spec, pass op.Pass, name, target string) int {
	best := scoreSide(spec, name, target)
	for i, form := range forms(name) {
		best = max(best, scoreForm(spec, pass, form, target)-3*i)
	}
	return best
}

// sides are what the last two sizes of a tensor are called, the last one second.
var sides = [2][]string{{"rows", "row", "height", "h"}, {"cols", "columns", "col", "column", "width", "w"}}

// scoreSide says how well a name fits a dim as a side of a tensor: numARows, a_cols, b_width.
func scoreSide(spec *op.Spec, name, dim string) int {
	for _, form := range forms(name) {
		before, side, found := cutLast(form)
		if !found {
			continue
		}
		for _, t := range spec.InputSpecs {
			shape, _ := t.Shape.([]any)
			if len(shape) < 2 || scoreForm(spec, op.Forward, before, t.Name) <= scoreWeak {
				continue
			}
			for i, words := range sides {
				if slices.Contains(words, side) && shape[len(shape)-2+i] == dim {
					return scoreFirst
				}
			}
		}
	}
	return 0
}

// cutLast cuts a name at its last underscore.
func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '_')
	if i <= 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

func scoreForm(spec *op.Spec, pass op.Pass, form, target string) int {
	if form == target || strings.ReplaceAll(form, "_", "") == strings.ReplaceAll(target, "_", "") {
		return scoreExact
	}
	if of, ok := strings.CutPrefix(target, "grad_"); ok {
		return scoreGradient(spec, form, of)
	}
	return scoreIn(synonyms[spec.Name][target], form)
}

func scoreIn(words, form string) int {
	strong, weak, _ := strings.Cut(words, "|")
	if i := slices.Index(strings.Fields(strong), form); i >= 0 {
		return scoreFirst - i
	}
	if i := slices.Index(strings.Fields(weak), form); i >= 0 {
		return scoreWeak - i
	}
	return 0
}

// scoreGradient says how well a form names the gradient of a tensor: dx, d_x, x_grad, dgamma, and for outputs the upstream names.
func scoreGradient(spec *op.Spec, form, of string) int {
	names := append([]string{of}, strings.Fields(strings.ReplaceAll(synonyms[spec.Name][of], "|", " "))...)
	for i, name := range names {
		for _, pattern := range []string{"grad_" + name, "d" + name, "d_" + name, name + "_grad", "g" + name, "grad" + name, "g_" + name, name + "_gradient"} {
			if form == pattern {
				return scoreFirst - i
			}
		}
	}
	if _, output := spec.Output(of); output && slices.Contains([]string{"upstream", "grad", "gradient", "dl"}, form) {
		return scoreWeak
	}
	return 0
}
