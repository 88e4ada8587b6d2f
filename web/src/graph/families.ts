/** The many types of entities as the few families that eyes can tell apart by colour. */

export interface Family {
  id: string;
  label: string;
  types: readonly string[];
}

export const FAMILIES: readonly Family[] = [
  { id: "code", label: "Code", types: ["symbol", "file", "function", "class", "method", "module"] },
  { id: "technology", label: "Technology", types: ["tool", "library", "language", "model"] },
  { id: "service", label: "Services", types: ["service", "host", "protocol"] },
  { id: "settings", label: "Commands, settings", types: ["command", "config"] },
  { id: "project", label: "Projects, events", types: ["project", "event"] },
  { id: "people", label: "People", types: ["person", "organization"] },
  { id: "error", label: "Errors", types: ["error"] },
  { id: "concept", label: "Concepts", types: ["concept"] },
  { id: "data", label: "Data, versions", types: ["dataset", "version"] },
];

const OTHER = FAMILIES.length - 2;

const BY_TYPE = new Map(
  FAMILIES.flatMap((family, index) => family.types.map((type) => [type, index] as const)),
);

/** The number of a type's family; what is unknown counts as a concept. */
export function familyOf(type: string): number {
  return BY_TYPE.get(type.toLowerCase()) ?? OTHER;
}
