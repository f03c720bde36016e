"""Databases of public text-to-SQL benchmarks: the development sets of Spider and of BIRD; the tasks
of SWE-SQL (BIRD-CRITIC) are about those of BIRD.
"""

_SPIDER = (
    "battle_death car_1 concert_singer course_teach cre_Doc_Template_Mgt dog_kennels "
    "employee_hire_evaluation flight_2 museum_visit network_1 orchestra pets_1 poker_player "
    "real_estate_properties singer student_transcripts_tracking tvshow voter_1 world_1 wta_1"
)
_BIRD = (
    "california_schools card_games codebase_community debit_card_specializing european_football_2 "
    "financial formula_1 student_club superhero thrombosis_prediction toxicology"
)
PUBLIC = frozenset(f"{_SPIDER} {_BIRD}".split())
