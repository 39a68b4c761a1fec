package main

import (
	"maps"
	"slices"
)

// largestCycle returns the largest set of nodes that all reach one another (a strongly connected component, by Tarjan's
// algorithm), sorted; empty if no set has two nodes.
func largestCycle(edges map[string][]string) []string {
	t := tarjan{edges: edges, index: map[string]int{}, low: map[string]int{}, onStack: map[string]bool{}}
	for _, node := range slices.Sorted(maps.Keys(edges)) {
		if t.index[node] == 0 {
			t.visit(node)
		}
	}
	if len(t.largest) < 2 {
		return nil
	}
	slices.Sort(t.largest)
	return t.largest
}

// tarjan is one walk over a graph.
type tarjan struct {
	edges   map[string][]string
	index   map[string]int // when a node was first seen, from 1
	low     map[string]int // the lowest index that it reaches on the stack
	stack   []string
	onStack map[string]bool
	largest []string
}

func (t *tarjan) visit(node string) {
	t.index[node] = len(t.index) + 1
	t.low[node] = t.index[node]
	t.stack = append(t.stack, node)
	t.onStack[node] = true
	for _, next := range t.edges[node] {
		if t.index[next] == 0 {
			t.visit(next)
			t.low[node] = min(t.low[node], t.low[next])
		} else if t.onStack[next] {
			t.low[node] = min(t.low[node], t.index[next])
		}
	}
	if t.low[node] != t.index[node] {
		return
	}
	at := slices.Index(t.stack, node)
	component := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, n := range component {
		t.onStack[n] = false
	}
	if len(component) > len(t.largest) {
		t.largest = component
	}
}
