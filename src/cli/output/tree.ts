/** Lines with branches, such as `├─ `. */
export interface Branch {
  readonly text: string;
  readonly branches: readonly Branch[];
}

export function tree(roots: readonly Branch[]): string {
  return roots.map((root) => `${root.text}\n${below(root.branches, "")}`).join("");
}

function below(branches: readonly Branch[], indent: string): string {
  return branches
    .map((branch, at) => {
      const isLast = at === branches.length - 1;
      const inner = `${indent}${isLast ? "   " : "│  "}`;
      return `${indent}${isLast ? "└─ " : "├─ "}${branch.text}\n${below(branch.branches, inner)}`;
    })
    .join("");
}
