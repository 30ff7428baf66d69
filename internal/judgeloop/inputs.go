package judgeloop

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// inputWord matches an input on the command line: fp32[64,1000], i64[64]<1000.
var inputWord = regexp.MustCompile(`^([a-z0-9]+)\[([0-9,]*)\](?:<([0-9]+))?(?:,|$)`)

// ParseInputs reads the inputs of a command line, DTYPE[SIZES],... with a limit behind those of indices.
func ParseInputs(text string) (all []Input, err error) {
	for left := text; left != ""; {
		found := inputWord.FindStringSubmatch(left)
		if found == nil {
			return nil, errors.New("want DTYPE[SIZES],... such as fp32[64,1000],i64[64]<1000")
		}
		left = left[len(found[0]):]
		in := Input{DType: found[1]}
		for _, word := range strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' }) {
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s is no size", word)
			}
			in.Shape = append(in.Shape, n)
		}
		if found[3] != "" {
			high, err := strconv.ParseFloat(found[3], 64)
			if err != nil {
				return nil, fmt.Errorf("%s is no limit", found[3])
			}
			low := 0.0
			in.Low, in.High = &low, &high
		}
		all = append(all, in)
	}
	return all, nil
}
