package op

import (
	"fmt"
	"slices"
	"strings"
)

// Fill is the rule that makes an input where it is not the distribution's. Kind is
//
//	""          the case's distribution
//	"addend"    the case's distribution, with whole rows that are not finite where it declares such
//	"weight"    1 + N(0,1)/4
//	"bias"      N(0,1)/4
//	"uniform"   between 0 and 1, which fp32 does not round it to
//	"about"     integers from 3 less than the attribute Of to 6 more where the case's distribution is
//	            normal, else that
//	"mask"      bools: in turn rows with half set, with one in eight, with none, and with all
//	"cos", "sin" of t * 10000^(-2i/d), in a table [positions, d/2]
//	"quantize"  Source, drawn in fp32 (an input, or the gradient of an output), divided by Scale and rounded
//	            to the tensor's dtype
//	"scale"     the fp32 multipliers of the tensor Of: amax / the dtype's largest number, a group each; of
//	            fp4 in e4m3, for 16 neighbours each
//	"offsets"   where consecutive groups begin, and the end: increasing integers from 0 to the size Of
//	"classes"   integers from 0 to the size Of less 1; one in eight, and one at least of several, is the
//	            attribute Ignoring instead, under zeros all, under sparse all but one in sixteen, under
//	            NoneIgnored none; none where the attribute is IgnoringNothing
//	"drawn"     what the problem itself draws: the operator was imported, and the input has a structure that
//	            no other rule gives it
//	"lengths"   integers from Least to Of, a size or an attribute each, Least "" for 0; one in eight is
//	            Least, one in eight Of; under zeros all are Least, under constant all are Of, under extremes
//	            either; with a Least the last is Of but under zeros, the first of several Least but under
//	            constant
//	"places"    different integers from 0 to the size Of less 1, in any order but the rising one: the blocks
//	            of a paged cache
//	"choices"   in each row different integers from 0 to Of less 1, a size or an attribute, and -1 for none:
//	            the experts of a token. One in eight is none, and one row in sixteen; one row at least has a
//	            single one. Under zeros all are none, under sparse all but one row in sixteen, under
//	            balanced none is. The first integers come often under shifted, one alone under outlier
//	"blocks"    of a tensor [batch, tokens, heads, n] in each row different blocks of Of tokens, an
//	            attribute, of those that have begun at the row's token, and -1 past as many as there are.
//	            One row in sixteen is none; of one in sixteen every second is none, and blocks that begin
//	            later may come. Under zeros all are none, under outlier a row has its own block alone
type Fill struct {
	Kind       string
	Source     string
	Transposed bool
	Scale      string
	Of         string
	Least      string
	Ignoring   string
}

// Drawn is the kind of an input that its own problem draws.
const Drawn = "drawn"

// alone lists the kinds that are one word.
var alone = []string{"addend", "weight", "bias", "uniform", "mask", "cos", "sin", Drawn}

// NoneIgnored is the distribution in which every target is a class. A kernel that is right there and wrong on
// others is reported to handle ignored targets wrongly.
const NoneIgnored = "scaled"

// IgnoringNothing is the value of the attribute Ignoring with which every target is a class, as for a
// function without ignored targets.
const IgnoringNothing = -1 << 31

// ParseFill reads "addend", "weight", "bias", "uniform", "mask", "drawn", "about ATTRIBUTE", "cos", "sin",
// "quantize [transposed] SOURCE by SCALE", "scale of TENSOR", "offsets of DIM", "lengths of SIZE",
// "lengths of SIZE from SIZE", "places of SIZE", "choices of SIZE", "blocks of ATTRIBUTE" or
// "classes of DIM ignoring ATTRIBUTE".
func ParseFill(text string) (Fill, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return Fill{}, nil
	case slices.Contains(alone, text):
		return Fill{Kind: text}, nil
	case len(words) == 2 && words[0] == "about":
		return Fill{Kind: "about", Of: words[1]}, nil
	case len(words) == 3 && words[0] == "scale" && words[1] == "of":
		return Fill{Kind: "scale", Of: words[2]}, nil
	case len(words) == 3 && words[1] == "of" &&
		slices.Contains([]string{"offsets", "lengths", "choices", "places", "blocks"}, words[0]):
		return Fill{Kind: words[0], Of: words[2]}, nil
	case len(words) == 5 && words[0] == "lengths" && words[1] == "of" && words[3] == "from":
		return Fill{Kind: words[0], Of: words[2], Least: words[4]}, nil
	case len(words) == 5 && words[0] == "classes" && words[1] == "of" && words[3] == "ignoring":
		return Fill{Kind: "classes", Of: words[2], Ignoring: words[4]}, nil
	case len(words) == 4 && words[0] == "quantize" && words[2] == "by":
		return Fill{Kind: "quantize", Source: words[1], Scale: words[3]}, nil
	case len(words) == 5 && words[0] == "quantize" && words[1] == "transposed" && words[3] == "by":
		return Fill{Kind: "quantize", Source: words[2], Transposed: true, Scale: words[4]}, nil
	}
	return Fill{}, fmt.Errorf("fill %q: want addend, weight, bias, uniform, about ATTRIBUTE, mask, drawn, "+
		"cos, sin, quantize [transposed] SOURCE by SCALE, scale of TENSOR, offsets of DIM, "+
		"lengths of SIZE [from SIZE], choices of SIZE, places of SIZE, blocks of ATTRIBUTE, or classes of "+
		"DIM ignoring ATTRIBUTE", text)
}
