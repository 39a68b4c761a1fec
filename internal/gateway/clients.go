package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
)

// localClient is the name of every client if none are configured.
const localClient = "local"

// Client may use the gateway. Its own limits are in the tariff, under its name.
type Client struct {
	Name        string
	TokenSHA256 [sha256.Size]byte
}

var (
	foreign = problem(http.StatusUnauthorized, "authError", "no client here has this credential, and this ledger is "+
		"for one project: send the client's token where the API key goes, as key= or X-Goog-Api-Key")
	unnamed = problem(http.StatusUnauthorized, "authError",
		"who asks? Send the token of a client where the API key goes, as key= or X-Goog-Api-Key")
)

// client finds who asks, by the token in place of an API key or as a bearer. All credentials of a request must be
// tokens of one client: calls with another project's credential are not in this ledger.
func (g *Gateway) client(r *http.Request, query url.Values) (string, *answer) {
	bearer := r.Header.Values("Authorization")
	for name := range query {
		if strings.HasSuffix(strings.ToLower(strings.TrimSpace(name)), "_token") {
			return "", foreign
		}
	}
	if len(g.config.Clients) == 0 {
		if len(bearer) > 0 {
			return "", foreign
		}
		return localClient, nil
	}
	given := append(append([]string{}, query["key"]...), r.Header.Values("X-Goog-Api-Key")...)
	for _, b := range bearer {
		scheme, token, _ := strings.Cut(b, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", foreign
		}
		given = append(given, token)
	}
	found := ""
	for _, token := range given {
		name := g.clientOf(token)
		if name == "" || found != "" && found != name {
			return "", foreign
		}
		found = name
	}
	if found == "" {
		return "", unnamed
	}
	return found, nil
}

// clientOf returns the client that a token belongs to; "" if there is none.
func (g *Gateway) clientOf(token string) (name string) {
	sum := sha256.Sum256([]byte(token))
	for _, c := range g.config.Clients {
		if subtle.ConstantTimeCompare(sum[:], c.TokenSHA256[:]) == 1 {
			name = c.Name
		}
	}
	return name
}
