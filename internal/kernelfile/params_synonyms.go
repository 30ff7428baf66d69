package kernelfile

import (
	"slices"
	"strings"
)

// synonyms are what people call the tensors, sizes and attributes of an operator, by operator and the spec's
// name; the likely ones first, after | weak ones, which often mean something else. "a * b" is a product of
// sizes, "a = b" several sizes that must be equal: one parameter may stand for either.
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

// products are the sizes beside the dims that one parameter may stand for: "a * b" a product, "a = b" several
// equal ones.
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
