import { FilterSelect } from '../ui/filter-select.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import { MANAGERS } from './package-managers.ts';

interface PackageFilter {
  q?: string | undefined;
  ecosystem?: string | undefined;
}

/** Narrows packages of a host by name and package manager. */
export function PackageFilters({
  filter,
  onFilter,
}: {
  filter: Readonly<PackageFilter>;
  onFilter: (changes: PackageFilter) => void;
}) {
  return (
    <>
      <SearchBox
        label="Package name"
        value={filter.q ?? ''}
        onSearch={(text) => onFilter({ q: text || undefined })}
      />
      <FilterSelect
        label="Package manager"
        value={filter.ecosystem}
        choices={MANAGERS}
        onChoose={(ecosystem) => onFilter({ ecosystem })}
      />
    </>
  );
}
