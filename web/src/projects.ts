/** The names of the projects, which memories name by their ids. */

import { useGet } from "./api";
import type { Project } from "./shapes";

let names = new Map<string, string>();

export function useProjects(): Project[] {
  const { data } = useGet<{ projects: Project[] }>("/v1/memory/projects");
  if (data) names = new Map(data.projects.map((project) => [project.id, project.name]));
  return data?.projects ?? [];
}

export function projectName(id: string): string {
  return names.get(id) ?? id;
}
