package trust

import (
	"strings"
	"testing"
)

// insights is the file by which machines find what the project says about its security.
const insights = "SECURITY-INSIGHTS.yml"

// required are the fields that the schema asks for (ossf/security-insights-spec:schema.cue), and those that readers of it
// look at.
var required = []string{
	"header.schema-version", "header.last-updated", "header.last-reviewed", "header.url",
	"project.name", "project.administrators", "project.repositories",
	"project.documentation.quickstart-guide", "project.documentation.detailed-guide", "project.documentation.design",
	"project.documentation.support-policy", "project.documentation.release-process",
	"project.documentation.signature-verification",
	"project.vulnerability-reporting.reports-accepted", "project.vulnerability-reporting.bug-bounty-available",
	"project.vulnerability-reporting.policy",
	"repository.url", "repository.status", "repository.accepts-change-request",
	"repository.accepts-automated-change-request", "repository.core-team", "repository.license.url",
	"repository.license.expression", "repository.documentation.contributing-guide",
	"repository.documentation.security-policy", "repository.release.automated-pipeline",
	"repository.release.changelog", "repository.release.distribution-points",
	"repository.security.assessments.self.comment", "repository.security.tools",
}

func TestSecurityInsightsHasEachFieldThatItsSchemaAsksFor(t *testing.T) {
	var all map[string]any
	readYAML(t, insights, &all)
	for _, path := range required {
		var at any = all
		for field := range strings.SplitSeq(path, ".") {
			object, _ := at.(map[string]any)
			at = object[field]
		}
		if at == nil || at == "" {
			t.Errorf("%s has no %s", insights, path)
		}
	}
	for _, tool := range all["repository"].(map[string]any)["security"].(map[string]any)["tools"].([]any) {
		for _, field := range []string{"name", "type", "rulesets", "results", "integration"} {
			if tool := tool.(map[string]any); tool[field] == nil {
				t.Errorf("%s: the tool %v has no %s", insights, tool["name"], field)
			}
		}
	}
}

func TestAReportOfABugAsksForWhatAnAnswerNeeds(t *testing.T) {
	const form = ".github/ISSUE_TEMPLATE/bug.yml"
	var bug struct {
		Body []struct {
			ID         string `json:"id"`
			Attributes struct {
				Description string `json:"description"`
			} `json:"attributes"`
			Validations struct {
				Required bool `json:"required"`
			} `json:"validations"`
		} `json:"body"`
	}
	readYAML(t, form, &bug)
	asked := map[string]string{}
	for _, field := range bug.Body {
		asked[field.ID] = field.Attributes.Description
		if field.ID == "operator" && !field.Validations.Required {
			t.Errorf("%s does not need the version of the operator", form)
		}
	}
	for id, want := range map[string]string{
		"describe": "kubectl describe etcd ", "operator": "get deployment", "kubernetes": "kubectl version",
		"logs": "logs -l control-plane=controller-manager", "members": "--previous",
	} {
		if !strings.Contains(asked[id], want) {
			t.Errorf("%s: %s asks %q, and not for %q", form, id, asked[id], want)
		}
	}
}
