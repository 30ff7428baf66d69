package cfacts

import (
	"regexp"
	"slices"
	"strings"
)

// WholeSuffix matches an integer with the suffix of its type.
var WholeSuffix = regexp.MustCompile(`\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b`)

// narrowType matches what shows that an author thought of other dtypes than fp32.
var narrowType = regexp.MustCompile(`(?i)half|float16|fp16|bf16|\bdtype\b|element_ty|scalar_type`)

// NamesNarrow reports whether the lines of a file, without its comments, name a type of 16 bits or ask for
// the dtype of tensors.
func NamesNarrow(comment *regexp.Regexp, text string) bool {
	return narrowType.MatchString(wideType.ReplaceAllString(comment.ReplaceAllString(text, " "), " "))
}

// wideType matches a dtype without half precision, "dtype=tl.float32", and one that is passed on and named
// elsewhere: "dtype=dtype", "dtype=x.dtype".
var wideType = regexp.MustCompile(
	`\bdtype\s*=\s*(?:(?:tl|torch|np|jnp)\.(?:float32|float64|float|u?int\w*|bool|long)\b|dtype\b|` +
		`\w+\.dtype\b|["'](?:fp|f|float)?(?:32|64)["'])`)

// numberType returns the type of a number that a function returns, by the words before its name, or "" if it
// returns none.
func (f *File) numberType(before []Token) string {
	name := f.Resolve(strings.TrimPrefix(strings.TrimSpace(Join(trimWords(before))), "const "))
	if slices.Contains(floatTypes, name) || slices.Contains(IntegerTypes, name) {
		return name
	}
	return ""
}

// returnsFalse reports whether a function returns a bool, by the words before its name, and its body returns
// false.
func returnsFalse(before, body []Token) bool {
	words := trimWords(before)
	return TextAt(words, len(words)-1) == "bool" && HasTexts(body, "return", "false")
}
