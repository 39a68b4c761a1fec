package youtubesim

import (
	"slices"
	"strings"
)

// regionNames are the regions with a YouTube front page of their own (i18nRegions.list, 2025).
const regionNames = `AE United Arab Emirates|AR Argentina|AT Austria|AU Australia|AZ Azerbaijan|
BA Bosnia and Herzegovina|BD Bangladesh|BE Belgium|BG Bulgaria|BH Bahrain|BO Bolivia|BR Brazil|BY Belarus|CA Canada|
CH Switzerland|CL Chile|CO Colombia|CR Costa Rica|CY Cyprus|CZ Czechia|DE Germany|DK Denmark|DO Dominican Republic|
DZ Algeria|EC Ecuador|EE Estonia|EG Egypt|ES Spain|FI Finland|FR France|GB United Kingdom|GE Georgia|GH Ghana|
GR Greece|GT Guatemala|HK Hong Kong|HN Honduras|HR Croatia|HU Hungary|ID Indonesia|IE Ireland|IL Israel|IN India|
IQ Iraq|IS Iceland|IT Italy|JM Jamaica|JO Jordan|JP Japan|KE Kenya|KH Cambodia|KR South Korea|KW Kuwait|KZ Kazakhstan|
LA Laos|LB Lebanon|LI Liechtenstein|LK Sri Lanka|LT Lithuania|LU Luxembourg|LV Latvia|LY Libya|MA Morocco|MD Moldova|
ME Montenegro|MK North Macedonia|MT Malta|MX Mexico|MY Malaysia|NG Nigeria|NI Nicaragua|NL Netherlands|NO Norway|
NP Nepal|NZ New Zealand|OM Oman|PA Panama|PE Peru|PG Papua New Guinea|PH Philippines|PK Pakistan|PL Poland|
PR Puerto Rico|PT Portugal|PY Paraguay|QA Qatar|RO Romania|RS Serbia|RU Russia|SA Saudi Arabia|SE Sweden|SG Singapore|
SI Slovenia|SK Slovakia|SN Senegal|SV El Salvador|TH Thailand|TN Tunisia|TR Türkiye|TW Taiwan|TZ Tanzania|UA Ukraine|
UG Uganda|US United States|UY Uruguay|VE Venezuela|VN Vietnam|YE Yemen|ZA South Africa|ZW Zimbabwe`

// categoryNames are the categories of a video; those with * cannot be chosen for an upload
// (videoCategories.list).
const categoryNames = `1 Film & Animation|2 Autos & Vehicles|10 Music|15 Pets & Animals|17 Sports|18 Short Movies*|
19 Travel & Events|20 Gaming|21 Videoblogging*|22 People & Blogs|23 Comedy|24 Entertainment|25 News & Politics|
26 Howto & Style|27 Education|28 Science & Technology|29 Nonprofits & Activism|30 Movies*|31 Anime/Animation*|
32 Action/Adventure*|33 Classics*|34 Comedy*|35 Documentary*|36 Drama*|37 Family*|38 Foreign*|39 Horror*|
40 Sci-Fi/Fantasy*|41 Thriller*|42 Shorts*|43 Shows*|44 Trailers*`

// named is a line of one of the tables above.
type named struct{ id, name string }

func table(s string) []named {
	var out []named
	for line := range strings.SplitSeq(s, "|") {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		out = append(out, named{id, name})
	}
	return out
}

func knownRegion(code string) bool {
	return slices.ContainsFunc(table(regionNames), func(n named) bool { return n.id == code })
}

// listRegions is i18nRegions.list.
func listRegions(_ catalogue, q *request) *answer {
	var items []any
	for _, r := range table(regionNames) {
		items = append(items, q.resource("i18nRegion", r.id, r.id, object{"snippet": object{"gl": r.id, "name": r.name}}))
	}
	return q.listAnswer("i18nRegionListResponse", items, nil)
}

// listCategories is videoCategories.list, by region or by id.
func listCategories(cat catalogue, q *request) *answer {
	ids, bad := q.ids()
	region := q.region()
	switch {
	case bad != nil:
		return bad
	case (len(ids) == 0) == (region == ""):
		return noFilter("id, regionCode")
	case region != "" && !knownRegion(region):
		if _, ok := cat.chart(region, q.now); !ok {
			return badRegion()
		}
	}
	var items []any
	for _, c := range table(categoryNames) {
		if region != "" || slices.Contains(ids, c.id) {
			name, closed := strings.CutSuffix(c.name, "*")
			items = append(items, q.resource("videoCategory", c.id, c.id, object{"snippet": object{
				"title": name, "assignable": !closed, "channelId": "UCBR8-60-B28hp2BmDPdntcQ",
			}}))
		}
	}
	return q.listAnswer("videoCategoryListResponse", items, nil)
}
