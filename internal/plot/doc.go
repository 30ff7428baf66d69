// Package plot draws what was measured as SVG: lines over sizes or time, intervals, histograms, and a grid of
// errors. A drawing takes its colours from a style sheet, light and dark, and says in words what it shows to
// who cannot see it. It knows numbers and names, and nothing of operators.
package plot
