package pages

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// contract is the part of openapi.json that the API's page shows.
type contract struct {
	Info  struct{ Description string }
	Paths map[string]struct{ Get, Post operation }
}

type operation struct {
	Summary    string
	Parameters []parameter
}

type parameter struct {
	Name, Description string
	Required          bool
	Schema            struct{ Description string }
}

// examples complete paths to links; the example of a chart has a region that is fetched.
func (s *Site) examples(r *http.Request) map[string]string {
	links := map[string]string{"/v1/search": "/v1/search?q=trailer"}
	if docs, err := s.Documents(); err == nil {
		if all, err := docs.Regions(r.Context()); err == nil && firstCharted(all) != "" {
			links["/v1/charts/{region}"] = "/v1/charts/" + firstCharted(all) + "?limit=10"
		}
	}
	return links
}

// Contract shows people the API's offer. It is generated from openapi.json, so that the two agree.
func (s *Site) Contract(openAPI []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c contract
		if err := json.Unmarshal(openAPI, &c); err != nil {
			s.refuse(w, r, Page{}, err)
			return
		}
		paths := slices.SortedFunc(maps.Keys(c.Paths), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(c.Paths[b].Get.Parameters), len(c.Paths[a].Get.Parameters)), cmp.Compare(a, b))
		})
		examples := s.examples(r)
		s.Show(w, r, Page{Title: "API", JSON: "/v1/openapi.json", Main: g.Group{
			h.H1(g.Text("API")), h.P(h.Class("soft"), g.Text(c.Info.Description)),
			h.P(g.Text("The contract, for machines: "), link("/v1/openapi.json", "openapi.json"),
				g.Text(". While you write a front end, let its pages read the API: "),
				h.Code(g.Text("ingest serve --origin http://localhost:5173")), g.Text(".")),
			g.Map(paths, func(path string) g.Node {
				get, post := c.Paths[path].Get, c.Paths[path].Post
				return pathPart(path, cmp.Or(examples[path], path), cmp.Or(get.Summary, post.Summary),
					append(get.Parameters, post.Parameters...))
			}),
		}})
	})
}

func pathPart(path, to, summary string, parameters []parameter) g.Node {
	heading := h.Code(g.Text(path))
	if !strings.Contains(to, "{") && !strings.HasPrefix(to, "/v1/limit") && to != "/auth" { // which are for callers
		heading = h.A(h.Href(to), h.Code(g.Text(to)))
	}
	return h.Section(h.Class("part"), h.H2(heading), h.P(g.Text(summary+".")),
		h.Dl(h.Class("facts part"), g.Map(parameters, func(p parameter) g.Node {
			text := p.Description
			if p.Schema.Description != "" {
				text = strings.TrimPrefix(text+": "+p.Schema.Description, ": ")
			}
			if p.Required {
				text += " (required)"
			}
			return fact(h.Code(g.Text(p.Name)), g.Text(text))
		})))
}
