package advice

import "testing"

// An exception about the call may result from how a function was read, and so may a wrong type; a missing
// name and a wrong return value do not.
func TestOfInterpretation(t *testing.T) {
	for sentence, want := range map[string]struct{ call, interpreted bool }{
		"ValueError: too many values to unpack (expected 2)":               {true, true},
		"OverflowError: Python int too large to convert to C long":         {true, true},
		"einops.EinopsError: Error while processing rearrange":             {true, true},
		"TypeError: 'int' object is not subscriptable":                     {false, true},
		"AttributeError: 'int' object has no attribute 'shape'":            {false, true},
		"NameError: name 'widht' is not defined":                           {false, false},
		"TypeError: f returned nothing: want a torch.Tensor":               {false, false},
		"RuntimeError: f returned an incorrect number of gradients (want)": {false, false},
	} {
		if call, interpreted := AboutTheCall(sentence), OfInterpretation(sentence); call != want.call ||
			interpreted != want.interpreted {
			t.Errorf("%s: of the call %v, of the interpretation %v; want %v", sentence, call, interpreted,
				want)
		}
	}
}
