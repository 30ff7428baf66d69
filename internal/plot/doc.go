// Package plot draws measurements as SVG: lines over sizes or time, intervals, histograms, and a grid of
// errors. A drawing takes its colours from a style sheet, light and dark, and describes what it shows in
// words for those who cannot see it. The package knows numbers and names, and nothing of operators.
package plot
