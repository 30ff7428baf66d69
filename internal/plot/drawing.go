package plot

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style is the style sheet of every drawing: colours for light and dark.
//
//go:embed plot.css
var Style string

// palette is the number of colours and marks before they repeat.
const palette = 8

// Drawing is a finished SVG without its style sheet.
type Drawing struct {
	Title, Words string
	body         string
	height       float64
}

// Inline returns the drawing as part of a page that holds Style.
func (d Drawing) Inline() string {
	return fmt.Sprintf(`<svg class="plot" role="img" viewBox="0 0 %.0f %.0f" aria-label="%s">%s</svg>`,
		width, d.height, escaped(d.Words), d.body)
}

// File returns the drawing as a file of its own, with its title, its style sheet and a background.
func (d Drawing) File() string {
	const title = 30
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" width="%.0f" `+
		`height="%.0f" viewBox="0 -%d %.0f %.0f"><title>%s</title><desc>%s</desc><style>%s</style>`+
		`<rect class="ground" x="0" y="-%d" width="100%%" height="100%%"/>`+
		`<text class="title" x="14" y="-10">%s</text>%s</svg>`+"\n",
		width, d.height+title+8, title, width, d.height+title+8, escaped(d.Title), escaped(d.Words), Style,
		title, escaped(cut(d.Title, 76)), d.body)
}

// drawing is a drawing in progress.
type drawing struct {
	title, words string
	out          strings.Builder
	height       float64
}

func newDrawing(title, words string) *drawing {
	return &drawing{title: visible(title), words: visible(words)}
}

// visible replaces characters that control a terminal or change the direction of text: titles are printed
// too, and hold names that others chose.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func (d *drawing) end() Drawing { return Drawing{d.title, d.words, d.out.String(), d.height} }

func escaped(text string) string {
	var out bytes.Buffer
	// Only a writer could fail, and a buffer does not.
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.out, `<path class="%s" d="M%.1f %.1fL%.1f %.1f"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) path(class, path string) {
	fmt.Fprintf(&d.out, `<path class="%s" d="%s"/>`, class, path)
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&d.out, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, x, y, w, h)
}

func (d *drawing) text(class string, x, y float64, words string) {
	fmt.Fprintf(&d.out, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, escaped(words))
}

// turned draws text that reads upwards.
func (d *drawing) turned(class string, x, y float64, words string) {
	fmt.Fprintf(&d.out, `<text class="%s" transform="translate(%.1f %.1f) rotate(-90)">%s</text>`, class, x,
		y, escaped(words))
}

// marker draws the mark of the i-th name: its shape distinguishes it too.
func (d *drawing) marker(i int, x, y float64) {
	shapes := []string{
		"M%[1]g %[2]gm-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",    // circle
		"M%[1]g %[2]gm-3.5 -3.5h7v7h-7z",                     // square
		"M%[1]g %[2]gm0 -4.5l4.5 8h-9z",                      // triangle
		"M%[1]g %[2]gm0 -5l5 5l-5 5l-5 -5z",                  // diamond
		"M%[1]g %[2]gm0 4.5l4.5 -8h-9z",                      // triangle on its head
		"M%[1]g %[2]gm-4 -2h8v4h-8z",                         // flat bar
		"M%[1]g %[2]gm-2 -4.5h4v9h-4z",                       // upright bar
		"M%[1]g %[2]gm-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z", // cross
	}
	d.path(fmt.Sprintf("mark s%d", i%palette), fmt.Sprintf(shapes[i%len(shapes)], round1(x), round1(y)))
}

func round1(v float64) float64 { return float64(int64(v*10+0.5)) / 10 }

// textWidth estimates the width of small text.
func textWidth(words string) float64 { return 6.6 * float64(utf8.RuneCountInString(words)) }
