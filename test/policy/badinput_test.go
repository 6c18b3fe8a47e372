package policy

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"
)

// expressions are those of the policies. Variables come first, each before what goes by it.
func expressions(t *testing.T) map[string][]cel.ExpressionAccessor {
	t.Helper()
	objects, err := read()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]cel.ExpressionAccessor{}
	for _, object := range objects {
		policy, isPolicy := object.(*admissionv1.ValidatingAdmissionPolicy)
		if !isPolicy {
			continue
		}
		for _, v := range policy.Spec.Variables {
			all[policy.Name] = append(all[policy.Name], &validating.Variable{Name: v.Name, Expression: v.Expression})
		}
		for _, c := range policy.Spec.MatchConditions {
			all[policy.Name] = append(all[policy.Name], &validating.ValidationCondition{Expression: c.Expression})
		}
		for _, v := range policy.Spec.Validations {
			all[policy.Name] = append(all[policy.Name], &validating.ValidationCondition{Expression: v.Expression},
				&validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
		}
	}
	return all
}

// misunderstood are the expressions that a new policy may not have in a Kubernetes of that minor version.
func misunderstood(t *testing.T, all []cel.ExpressionAccessor, minor uint) []string {
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, minor)))
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	for _, expression := range all {
		var result cel.CompilationResult
		if v, isVariable := expression.(cel.NamedExpressionAccessor); isVariable {
			result = compiler.CompileAndStoreVariable(v, cel.OptionalVariableDeclarations{}, environment.NewExpressions)
		} else {
			result = compiler.CompileCELExpression(expression, cel.OptionalVariableDeclarations{}, environment.NewExpressions)
		}
		if result.Error != nil {
			wrong = append(wrong, expression.GetExpression()+": "+result.Error.Detail)
		}
	}
	return wrong
}

// An API server takes new expressions of the minor version before its own, for the way back to that
// (k8s.io/apiserver/pkg/cel/environment). The chart says which Kubernetes is the oldest.
func TestTheOldestKubernetesThatIsSupportedUnderstandsEachPolicy(t *testing.T) {
	text, err := os.ReadFile("../../config/helm/etcd-steward/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	oldest := regexp.MustCompile(`kubeVersion: ">=1\.(\d+)\.`).FindSubmatch(text)
	if oldest == nil {
		t.Fatal("the chart names no oldest Kubernetes")
	}
	minor, err := strconv.ParseUint(string(oldest[1]), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	all := expressions(t)
	if len(all) < 6 {
		t.Fatalf("only %d policies", len(all))
	}
	for name, written := range all {
		if wrong := misunderstood(t, written, uint(minor)-1); len(wrong) > 0 {
			t.Errorf("%s: Kubernetes 1.%d takes it not: %s", name, minor, wrong[0])
		}
	}
	later := []cel.ExpressionAccessor{&validating.ValidationCondition{Expression: "isSemver('1.0.0')"}} // since 1.33
	if wrong := misunderstood(t, later, 32); len(wrong) != 1 {
		t.Errorf("what is newer is taken too: %v", wrong)
	}
}

// Params that are missing would refuse all, or let all pass.
func TestNoPolicyGoesByParamsThatCouldBeMissing(t *testing.T) {
	objects, err := read()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		switch o := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			if o.Spec.ParamKind != nil {
				t.Errorf("%s asks for params", o.Name)
			}
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			if o.Spec.ParamRef != nil {
				t.Errorf("the binding %s names params", o.Name)
			}
		}
	}
}

// broken is a copy of the policies, with one of others, or with one of them that is not understood.
func broken(t *testing.T, change func([]kube.Object) []kube.Object) error {
	t.Helper()
	objects, err := read()
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := open(change(objects))
	if err != nil {
		t.Fatal(err)
	}
	attributes, err := create(member(t)).attributes()
	if err != nil {
		t.Fatal(err)
	}
	return plugin.Validate(t.Context(), attributes, interfaces())
}

func TestAPolicyThatCannotBeGoneByRefusesByName(t *testing.T) {
	for name, row := range map[string]struct {
		change func([]kube.Object) []kube.Object
		says   []string
	}{
		"its params are missing": {func(objects []kube.Object) []kube.Object { return append(objects, withParams()...) },
			[]string{"ValidatingAdmissionPolicy 'of-others' with binding 'of-others' denied request", "no params found"}},
		"an API server that went back does not know a function": {func(objects []kube.Object) []kube.Object {
			i := slices.IndexFunc(objects, func(o kube.Object) bool {
				policy, isPolicy := o.(*admissionv1.ValidatingAdmissionPolicy)
				return isPolicy && policy.Name == "restricted-pods"
			})
			objects[i].(*admissionv1.ValidatingAdmissionPolicy).Spec.Validations[0].Expression = "isOfTheFuture(object)"
			return objects
		}, []string{"ValidatingAdmissionPolicy 'restricted-pods' with binding 'restricted-pods' denied request", "isOfTheFuture"}},
	} {
		err := broken(t, row.change)
		for _, says := range row.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: want %q, got %v", name, says, err)
			}
		}
	}
}

// withParams is a policy of others on Pods, whose params are gone.
func withParams() []kube.Object {
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "of-others"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionv1.Fail), ParamKind: &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}}}}},
			Validations: []admissionv1.Validation{{Expression: "params.data.size() > 0"}},
		}}
	withDefaults(policy.Spec.MatchConstraints)
	return []kube.Object{policy, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "of-others"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "of-others", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			ParamRef: &admissionv1.ParamRef{Name: "gone", Namespace: "default", ParameterNotFoundAction: new(admissionv1.DenyAction)}}}}
}
