package world

import (
	"strings"
	"testing"
)

func TestARollIsHeldToItsHandOversWithAnyElection(t *testing.T) {
	const a, b, c = "demo-0", "demo-1", "demo-2"
	first := Reign{Leader: a, Term: 2}
	inOrder := []string{b, c, a}
	for _, row := range []struct {
		name string
		roll Leadership
		why  string // part of what speaks against it; "" when nothing does
	}{
		{"the leader hands over once and is restarted last", Leadership{[]Reign{first, {b, 3, true}}, []string{a}, inOrder}, ""},
		{"the hand-over was seen when the old leader was already stopping", Leadership{[]Reign{first, {b, 3, false}}, []string{a}, inOrder}, ""},
		{"nobody was seen to lead", Leadership{nil, nil, inOrder}, "no member was seen to take over"},
		{"no other was seen to lead", Leadership{[]Reign{first}, nil, inOrder}, "no member was seen to take over"},
		{"the leader is stopped and does not hand over", Leadership{[]Reign{first, {b, 3, false}}, nil, inOrder}, "demo-0 led until it stopped"},
		{"it is stopped, amid elections of members by themselves",
			Leadership{[]Reign{first, {c, 3, true}, {b, 9, false}}, nil, []string{b, a, c}}, "demo-2 led until it stopped"},
		{"it is stopped and elected again", Leadership{[]Reign{first, {a, 4, false}}, nil, inOrder}, "demo-0 led until it stopped"},
		{"another one hands over than the one that stopped",
			Leadership{[]Reign{first, {b, 3, false}}, []string{c}, inOrder}, "demo-0 led until it stopped"},
		{"the lead moves twice", Leadership{[]Reign{first, {b, 3, true}, {c, 4, true}}, []string{a, b}, []string{c, b, a}}, "2 hand-overs"},
		{"it moves twice, one election after members elected by themselves",
			Leadership{[]Reign{first, {b, 3, true}, {a, 5, true}, {c, 6, true}}, []string{a, a}, inOrder}, ""},
		{"it moves twice, seen once", Leadership{[]Reign{first, {c, 4, true}}, []string{a, b}, inOrder}, "2 hand-overs"},
		{"members elect one that is done, and no hand-over is needed", Leadership{[]Reign{first, {b, 3, true}}, nil, []string{b, a, c}}, ""},
		{"members elect, and the one that leads then hands over and is last",
			Leadership{[]Reign{first, {c, 3, true}, {b, 4, true}}, []string{c}, []string{b, a, c}}, ""},
		{"members elect, and the one that handed over is not last",
			Leadership{[]Reign{first, {c, 3, true}, {b, 4, true}}, []string{c}, []string{b, c, a}}, "demo-2 led, and demo-0 was restarted last"},
		{"the leader is not the last", Leadership{[]Reign{first, {b, 3, true}}, []string{a}, []string{b, a, c}}, "demo-0 led, and demo-2 was restarted last"},
		{"successors take the place of all", Leadership{[]Reign{first, {"demo-4", 3, true}}, []string{a}, nil}, ""},
		{"the leader is removed and does not hand over", Leadership{[]Reign{first, {"demo-4", 3, false}}, nil, nil}, "demo-0 led until it stopped"},
	} {
		err := row.roll.Check(1)
		switch {
		case row.why == "" && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case row.why != "" && (err == nil || !strings.Contains(err.Error(), row.why)):
			t.Errorf("%s: %v, want %q", row.name, err, row.why)
		}
	}
}
