package advice

import (
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// An exception about a function's arguments gives nobody a wrong number; errors in the lines, wrong return
// values and a worker that ended are not excused.
func TestExplainRaised(t *testing.T) {
	for _, c := range []struct {
		sentence string
		ended    bool
		want     op.Status
	}{
		{"RuntimeError: shape '[-1, 128]' is invalid for input of size 7", false, op.StatusUnsupported},
		{"IndexError: index 263 is out of bounds for dimension 0 with size 128", false, op.StatusUnsupported},
		{"ValueError: not enough values to unpack (expected 3, got 2)", false, op.StatusUnsupported},
		{"ZeroDivisionError: integer modulo by zero", false, op.StatusUnsupported},
		{"einops.EinopsError: Error while processing rearrange", false, op.StatusUnsupported},
		{"RuntimeError: the process ended", true, op.StatusCrash},
		{"NameError: name 'rows' is not defined", false, op.StatusCrash},
		{"UnboundLocalError: cannot access local variable 'y'", false, op.StatusCrash},
		{"AttributeError: 'Tensor' object has no attribute 'shap'", false, op.StatusCrash},
		{"TypeError: softmax returned nothing: return the result", false, op.StatusCrash},
		{"RuntimeError: softmax returned nothing: return the result", false, op.StatusCrash},
		{
			"RuntimeError: NormBackward returned an incorrect number of gradients (expected 3)", false,
			op.StatusCrash,
		},
	} {
		o := backend.Outcome{Status: op.StatusCrash, Sentence: c.sentence, Ended: c.ended}
		if ExplainRaised(&o); o.Status != c.want {
			t.Errorf("%s: %v %q, want %v", c.sentence, o.Status, o.Sentence, c.want)
		}
	}
	o := backend.Outcome{Status: op.StatusFail, Sentence: "RuntimeError: words"}
	if ExplainRaised(&o); o.Status != op.StatusFail {
		t.Errorf("a wrong answer became %v", o.Status)
	}
}

// Something missing here is not a file's fault; a function of the file with another parameter is.
func TestExplainAbsent(t *testing.T) {
	const twoFunctions = "def max(x):\n    return tl.where(x > 0, x, 0, precise=True)\n"
	for _, c := range []struct {
		sentence, text string
		want           op.Status
		says           string
	}{
		{
			"AttributeError: '_OpNamespace' 'mine' object has no attribute 'relu'", "",
			op.StatusUnavailable, "torch.ops.mine.relu",
		},
		{
			"FileNotFoundError: 'tileiras' compiler not found, make sure it is available as a python package",
			"", op.StatusUnavailable, "triad setup --cutile",
		},
		{
			"RuntimeError: Minimum driver version required is 13.0, got 12.8", "", op.StatusUnavailable,
			"driver 580 or newer (RuntimeError: Minimum driver version required is 13.0, got 12.8)",
		},
		{"FileNotFoundError: [Errno 2] No such file or directory: 'tileiras'", "", op.StatusCrash, ""},
		{
			"TypeError: where() got an unexpected keyword argument 'precise'", twoFunctions,
			op.StatusUnsupported, "tl.where of the version that is here has no parameter precise",
		},
		{"TypeError: max() got an unexpected keyword argument 'precise'", twoFunctions, op.StatusCrash, ""},
		{"TypeError: sum() got an unexpected keyword argument 'precise'", twoFunctions, op.StatusCrash, ""},
		{"AttributeError: 'Tensor' object has no attribute 'relu'", "", op.StatusCrash, ""},
	} {
		o := backend.Outcome{Status: op.StatusCrash, Sentence: c.sentence}
		ExplainDeclined(&o, Raised{Text: c.text}, true)
		if o.Status != c.want || !strings.Contains(o.Sentence, c.says) {
			t.Errorf("%s: %v %q, want %v and %q", c.sentence, o.Status, o.Sentence, c.want, c.says)
		}
	}
}
