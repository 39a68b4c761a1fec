package strictyaml

import (
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Text is a scalar exactly as it was written. The decoder alone would cut 1.5 down to the integer 1.
type Text string

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *Text) UnmarshalYAML(n ast.Node) error {
	*t = Text(n.GetToken().Value)
	return nil
}

// TextOrList is a scalar or a list of scalars, exactly as they were written.
type TextOrList struct {
	Text   Text // "" if it is a list
	List   []Text
	IsList bool
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *TextOrList) UnmarshalYAML(n ast.Node) error {
	*t = TextOrList{}
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return t.Text.UnmarshalYAML(n)
	}
	t.IsList = true
	for _, n := range list.Values {
		t.List = append(t.List, Text(n.GetToken().Value))
	}
	return nil
}

// FormatDuration writes a duration as people do in a config: 1h, not 1h0m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
